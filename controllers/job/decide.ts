import type { Job, Pod } from '../../api/generated/types.ts';
import { advanceBackoff, type Backoff } from './back-off.ts';
import { type Counts, decideCounts } from './decide-counts.ts';
import { decidePods, type PodsStep } from './decide-pods.ts';
import { deadlineLeftMs, decideEnding, type Ending } from './ending.ts';
import { computeTally, type Tally } from './tally.ts';

/** What becomes of strays wakes no Job: they name none, or are being deleted. */
const strayMs = 1_000;

export interface JobInput {
  readonly job: Job;
  /** The Job's own: all that have not ended, and of the ended those that are still to be counted. */
  readonly pods: readonly Pod[];
  /** Not its own any more, and still with its finalizer (`straysOf`): they are let go, and counted only then. */
  readonly strays?: readonly Pod[];
  /** Before the pods that have ended since. */
  readonly backoff: Backoff;
  /** When failed pods that wait for their replacement were seen to have failed, by uid. */
  readonly seen: (waiting: Iterable<Pod>) => ReadonlyMap<string, number>;
  readonly now: number;
}

export interface JobPlan {
  readonly tally: Tally;
  readonly ending: Ending | undefined;
  readonly step: PodsStep;
  readonly counts: Counts;
  /** After the counts are written. */
  readonly backoff: Backoff;
  /** When to look again though nothing changes. */
  readonly againMs: number | undefined;
}

/**
 * What to do about a Job: pods to make or delete (`step`), and what to count. `decideStatus` follows when the step has
 * been carried out; of a Job that ends the status comes first, so that the reason is kept whatever becomes of its pods.
 */
export function decideJob({ job, pods, strays = [], backoff, seen, now }: JobInput): JobPlan {
  const tally = computeTally(job, pods);
  const ending = decideEnding(job, tally, pods, now);
  const ended = { succeeded: tally.newSucceeded, failed: tally.newFailed };
  const step = decidePods({
    job,
    pods,
    tally,
    ending,
    backoff: advanceBackoff(backoff, ended, now),
    seen: seen(tally.delayed.values()),
    now,
  });
  const counts = decideCounts({ job, pods, strays, tally, ending });
  const released = new Set(counts.release);
  const isCounted = (pod: Pod): boolean => released.has(pod);
  const counted = { succeeded: ended.succeeded.filter(isCounted), failed: ended.failed.filter(isCounted) };
  const waits = [
    step.do === 'wait' ? step.ms : undefined,
    ending ? undefined : deadlineLeftMs(job, now),
    strays.length > 0 ? strayMs : undefined,
  ];
  const known = waits.filter((ms) => ms !== undefined);
  return {
    tally,
    ending,
    step,
    counts,
    backoff: advanceBackoff(backoff, counted, now),
    againMs: known.length > 0 ? Math.min(...known) : undefined,
  };
}
