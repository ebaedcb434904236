import type { Probe } from '../../api/generated/types.ts';

/** How often the same came in a row, and what holds since the last time that it came often enough. */
export interface Count {
  readonly last: boolean | undefined;
  readonly inRow: number;
  readonly verdict: boolean;
}

/** Counts one more result: the verdict changes when as many in a row agree as the probe wants. Pure. */
export function countResult(before: Count, good: boolean, probe: Probe): Count {
  const inRow = before.last === good ? before.inRow + 1 : 1;
  const needed = (good ? probe.successThreshold : probe.failureThreshold) ?? 1;
  return { last: good, inRow, verdict: inRow >= needed ? good : before.verdict };
}

/**
 * Whether a probe that is to fail for good has: its verdict alone does not say it,
 * since liveness begins with the good one.
 */
export function hasFailed({ last, inRow, verdict }: Count, { failureThreshold = 1 }: Probe): boolean {
  return last === false && !verdict && inRow >= failureThreshold;
}
