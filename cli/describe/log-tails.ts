import type { ObjectKey, PodClient } from '../../client/index.ts';
import { list, type Tree, text, tree } from './json.ts';

/** One run of a container whose last lines say why it failed. */
export interface FailedRun {
  readonly container: string;
  /** Whether it is the run before the one that goes on now. */
  readonly previous: boolean;
}

/**
 * The runs of a pod that failed: the container ended badly and stays so, waits to be run again, or runs again after it
 * ended badly. A container that never ran has written nothing. Pure.
 */
export function computeFailedRuns(pod: Tree): FailedRun[] {
  return ['initContainerStatuses', 'containerStatuses'].flatMap((name) =>
    list(pod, 'status', name).flatMap((status): FailedRun[] => {
      const [state, last] = [tree(status, 'state'), tree(status, 'lastState')];
      const container = text(status, 'name');
      if (state.terminated) return failed(state) ? [{ container, previous: false }] : [];
      if (state.waiting) return last.terminated ? [{ container, previous: false }] : [];
      return failed(last) ? [{ container, previous: true }] : [];
    }),
  );
}

function failed(state: Tree): boolean {
  return state.terminated !== undefined && (text(state, 'terminated', 'exitCode') || '0') !== '0';
}

/** Enough to see the error, and no more than fits a screen. */
const tailLines = 10;
const lineCharacters = 300;
/** What is read at most; ten lines of a program that writes lines of this length are not worth more. */
const limitBytes = 64 * 1024;
/** A node that is away does not answer, and a busy one takes its time; no description waits long for either. */
const patienceMs = 5_000;

/** Reads last lines of containers; a failure is no lines, since a description is worth having without them. */
export interface LogTails {
  /** `node` runs the pod: one that did not answer once is not asked again. */
  read(pod: ObjectKey & { readonly node: string }, run: FailedRun): Promise<readonly string[]>;
}

export function createLogTails(pods: Pick<PodClient, 'logs'>, timeoutMs = patienceMs): LogTails {
  const silent = new Set<string>();
  return {
    async read({ node, ...key }, { container, previous }) {
      if (node === '' || silent.has(node)) return [];
      const signal = AbortSignal.timeout(timeoutMs);
      try {
        const pieces: Buffer[] = [];
        const options = { container, previous, tailLines, limitBytes };
        for await (const piece of pods.logs(key, options, { signal })) pieces.push(piece);
        return lastLines(Buffer.concat(pieces).toString('utf8'));
      } catch {
        if (signal.aborted) silent.add(node);
        return [];
      }
    },
  };
}

/**
 * The last lines as a terminal may show them: no control characters, which could move its cursor or hide text,
 * and none too long.
 */
export function lastLines(log: string): string[] {
  const lines = log.replace(/\r?\n$/, '').split(/\r?\n/);
  if (lines.length === 1 && lines[0] === '') return [];
  return lines.slice(-tailLines).map((line) => {
    // Colours are sequences of several characters; what is left of unprintable ones goes one by one.
    const shown = line
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
      .replace(/\u001b\[[0-9;?]*[ -/]*[@-~]/g, '')
      .replace(/\t/g, '    ')
      .replace(/[\p{Cc}\p{Cf}]/gu, '');
    return shown.length > lineCharacters ? `${shown.slice(0, lineCharacters)}...` : shown;
  });
}
