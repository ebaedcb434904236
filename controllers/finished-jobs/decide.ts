import type { Job } from '../../api/generated/types.ts';
import { findCondition } from '../../api/meta/conditions.ts';
import { toMillis } from '../../api/meta/time.ts';
import { endOf } from '../job/job-facts.ts';

/** In how many ms a finished Job is to be deleted; 0: now; undefined: it stays, or goes already. */
export function expiresInMs(job: Job, now: number): number | undefined {
  const { ttlSecondsAfterFinished } = job.spec ?? {};
  const end = endOf(job);
  if (ttlSecondsAfterFinished === undefined || end === undefined || job.metadata?.deletionTimestamp) return undefined;
  const endedAt = findCondition(job.status?.conditions, end)?.lastTransitionTime;
  // Without a time nothing says that it ended so long ago.
  return endedAt && Math.max(0, toMillis(endedAt) + ttlSecondsAfterFinished * 1000 - now);
}
