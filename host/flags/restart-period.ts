import { badRequest } from '../../api/errors/index.ts';
import { parseDuration } from '../../cli/args/duration.ts';

export const restartPeriodHelp = 'the longest that a container which ends again and again waits for its next run';

/** kubelet's bounds. */
const [leastMs, mostMs] = [1_000, 300_000];

/** Milliseconds of `--max-container-restart-period`; undefined when it was not given. Throws INVALID_ARGUMENT. */
export function parseRestartPeriod(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  if (ms < leastMs || ms > mostMs) throw badRequest(`--max-container-restart-period "${text}" must be from 1s to 5m`);
  return ms;
}

/** What is wrong with it, as a sentence. */
export function restartPeriodErrors(text: string | undefined): string[] {
  try {
    parseRestartPeriod(text);
    return [];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}
