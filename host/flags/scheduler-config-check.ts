import { statSync } from 'node:fs';
import type { UpPlan } from '../installation/up-plan.ts';

/** A file of the scheduler's profiles, as `berth up` finds it. */
export interface ConfigFiles {
  /** With the flag; empty: none. */
  readonly given: string | undefined;
  /** Of the installation as it runs, or as it ran at last. */
  readonly before: string | undefined;
  /** What a start would take. */
  readonly next: string | undefined;
}

/**
 * The files that have to be right before anything is done: the one that a server is about to be started with, because
 * it would end at once; and the one that is given, even where it is not applied: the advice is to start with it later.
 */
export function filesToCheck(plan: UpPlan, { given, before, next }: ConfigFiles): string[] {
  const startsServer = plan.kind !== 'running' && (plan.kind !== 'mend' || plan.start.includes('server'));
  const started = plan.kind === 'mend' ? before : next;
  return [...new Set([given, startsServer ? started : undefined])].filter(
    (file) => file !== undefined && file !== '',
  ) as string[];
}

/**
 * What there is to say of the file that a running server has read, with what to do;
 * nothing as long as it is as it was then.
 */
export async function configNews(
  file: string,
  startedAtMs: number | undefined,
  read: (file: string) => Promise<unknown>,
): Promise<{ readonly news: string; readonly advice: string } | undefined> {
  if (startedAtMs === undefined || (changedAtMs(file) ?? Number.POSITIVE_INFINITY) <= startedAtMs) return undefined;
  try {
    await read(file);
  } catch (error) {
    return {
      news: `the scheduler's configuration has changed since the server started, which could not start with it again: ${(error as Error).message}`,
      advice: 'mend the file, then berth down and berth up; containers go on running meanwhile',
    };
  }
  return {
    news: `the scheduler's configuration ${file} has changed since the server started, and is read when it starts`,
    advice: 'berth down, then berth up; containers go on running meanwhile',
  };
}

/** Also when another file was put in its place. Undefined when it is not there. */
function changedAtMs(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ctimeMs;
}
