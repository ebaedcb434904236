import type { SeenContainer } from './own-clock.ts';

export interface BackOff {
  readonly initialMs: number;
  readonly maxMs: number;
  /** After a run this long, earlier ends do not count. */
  readonly forgottenAfterMs: number;
}

/** Kubernetes' figures: 10 s doubling to 5 min, forgotten after 10 min of running. */
export const restartBackOff: BackOff = { initialMs: 10_000, maxMs: 300_000, forgottenAfterMs: 600_000 };

/** The same with another longest wait; one below the first wait is the only one. */
export function backOffUpTo(maxMs: number): BackOff {
  return { ...restartBackOff, maxMs, initialMs: Math.min(restartBackOff.initialMs, maxMs) };
}

/**
 * The back-off after a container's exit, from its labels and times alone, so that a restarted agent computes the same.
 */
export interface Restart {
  /** Not before this instant (milliseconds since 1970). */
  readonly notBefore: number;
  /** The wait, for messages; 0 for the first restart. */
  readonly delayMs: number;
  /** The label of the container that comes next. */
  readonly restartsInRow: number;
}

/** When a container that has ended may run again: at once the first time, then after a wait that doubles. */
export function computeRestart(ended: SeenContainer, nowMs: number, limits: BackOff): Restart {
  const finished = (ended.finishedAt ?? ended.createdAt).getTime();
  const ranMs = ended.startedAt === undefined ? 0 : finished - ended.startedAt.getTime();
  const inRow = ranMs >= limits.forgottenAfterMs ? 0 : (ended.restartsInRow ?? 0);
  const delayMs = delayAfter(inRow, limits);
  // A clock that was set back must not turn 10 s into hours: the wait is bounded by the delay from now.
  return { notBefore: (ended.endedAtMs ?? Math.min(finished, nowMs)) + delayMs, delayMs, restartsInRow: inRow + 1 };
}

/** 0 for the first failure, then initial, twice that, ... up to the maximum. */
export function delayAfter(failures: number, limits: { readonly initialMs: number; readonly maxMs: number }): number {
  return failures <= 0 ? 0 : Math.min(limits.maxMs, limits.initialMs * 2 ** (failures - 1));
}

/** "10s", "2m40s", "5m0s": as Kubernetes writes durations. */
export function formatDuration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
