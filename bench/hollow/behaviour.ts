import type { Pod } from '../../api/generated/types.ts';
import { parseDuration } from '../../cli/args/duration.ts';
import type { CompleteHollowOptions } from './options.ts';

/** What a pod's annotations tell its hollow node; spans as "5s", "1m30s". */
export const hollowAnnotations = {
  exitCode: 'hollow.berth.io/exit-code',
  runFor: 'hollow.berth.io/run-for',
  readyAfter: 'hollow.berth.io/ready-after',
  stopAfter: 'hollow.berth.io/stop-after',
  neverReady: 'hollow.berth.io/never-ready',
  pullError: 'hollow.berth.io/pull-error',
} as const;

/** How the containers of a pod behave; init containers end well at once, whatever this says. */
export interface Behaviour {
  /** From the start of a container; Infinity for never. */
  readonly readyAfterMs: number;
  /** When and how containers end by themselves; undefined: they do not. */
  readonly end: { readonly afterMs: number; readonly exitCode: number } | undefined;
  /** How long a container takes to end once it is told to. */
  readonly stopAfterMs: number;
  /** Whether its images cannot be pulled. */
  readonly failsToPull: boolean;
  /** Annotations that cannot be read, and count as absent. */
  readonly problems: readonly string[];
}

/** An exit code is what a process leaves: one byte. */
const mostExitCode = 255;

/** Annotations go before what the options say for all pods. Pure. */
export function decideBehaviour(pod: Pod, options: Pick<CompleteHollowOptions, 'readyAfterMs' | 'runForMs'>): Behaviour {
  const given = pod.metadata?.annotations ?? {};
  const problems: string[] = [];
  const read = <T>(key: string, parse: (text: string) => T | undefined): T | undefined => {
    const text = given[key];
    const value = text === undefined ? undefined : parse(text);
    if (text !== undefined && value === undefined) problems.push(`annotation ${key}: "${text}" cannot be read`);
    return value;
  };
  const exitCode = read(hollowAnnotations.exitCode, parseExitCode);
  const runForMs = read(hollowAnnotations.runFor, parseSpan) ?? defaultRunForMs(pod, options, exitCode);
  const readyAfterMs = read(hollowAnnotations.readyAfter, parseSpan) ?? options.readyAfterMs;
  const neverReady = read(hollowAnnotations.neverReady, parseFlag) ?? false;
  return {
    readyAfterMs: neverReady ? Number.POSITIVE_INFINITY : readyAfterMs,
    end: runForMs === undefined ? undefined : { afterMs: runForMs, exitCode: exitCode ?? 0 },
    stopAfterMs: read(hollowAnnotations.stopAfter, parseSpan) ?? 0,
    failsToPull: read(hollowAnnotations.pullError, parseFlag) ?? false,
    problems,
  };
}

/** A pod with an exit code is to end; one that would only be started again runs on where all pods end at once. */
function defaultRunForMs(
  pod: Pod,
  { runForMs }: Pick<CompleteHollowOptions, 'runForMs'>,
  exitCode: number | undefined,
): number | undefined {
  if (exitCode !== undefined) return runForMs ?? 0;
  return runForMs === 0 && (pod.spec?.restartPolicy ?? 'Always') === 'Always' ? undefined : runForMs;
}

function parseSpan(text: string): number | undefined {
  try {
    return parseDuration(text);
  } catch {
    return undefined;
  }
}

function parseExitCode(text: string): number | undefined {
  const code = Number(text);
  return /^\d+$/.test(text) && code <= mostExitCode ? code : undefined;
}

function parseFlag(text: string): boolean | undefined {
  return text === 'true' ? true : text === 'false' ? false : undefined;
}
