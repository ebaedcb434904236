import type { Job, JobCondition, Pod } from '../../api/generated/types.ts';
import { findCondition } from '../../api/meta/conditions.ts';
import { toMillis } from '../../api/meta/time.ts';
import { judgeFailure } from './failure-policy.ts';
import { hasFailed, isSuspended } from './job-facts.ts';
import { meetsSuccessPolicy } from './success-policy.ts';
import type { Tally } from './tally.ts';

/**
 * The end of a Job, and its reason. The condition `target` comes first, and is final; `last` follows once no pod runs
 * or has to be counted.
 */
export interface Ending {
  readonly target: 'FailureTarget' | 'SuccessCriteriaMet';
  readonly last: 'Failed' | 'Complete';
  readonly reason: string;
  readonly message: string;
}

const failure = (reason: string, message: string): Ending => ({ target: 'FailureTarget', last: 'Failed', reason, message });
const success = (reason: string, message: string): Ending => ({
  target: 'SuccessCriteriaMet',
  last: 'Complete',
  reason,
  message,
});

/** Undefined: the Job goes on. Order, reasons and messages are Kubernetes'. */
export function decideEnding(job: Job, tally: Tally, pods: readonly Pod[], now: number): Ending | undefined {
  const known = (type: string): JobCondition | undefined => {
    const found = findCondition(job.status?.conditions, type);
    return found?.status === 'True' ? found : undefined;
  };
  const [met, target] = [known('SuccessCriteriaMet'), known('FailureTarget')];
  if (met) return success(met.reason ?? '', met.message ?? '');
  if (target) return failure(target.reason ?? '', target.message ?? '');
  const why = failJobMessage(job, pods);
  if (why !== undefined) return failure('PodFailurePolicy', why);
  if (tally.failed > (job.spec?.backoffLimit ?? 0) || hasTooManyRestarts(job, pods))
    return failure('BackoffLimitExceeded', 'Job has reached the specified backoff limit');
  if (deadlineLeftMs(job, now) === 0) return failure('DeadlineExceeded', 'Job was active longer than specified deadline');
  return endOfIndexes(job, tally) ?? completion(job, tally);
}

function failJobMessage(job: Job, pods: readonly Pod[]): string | undefined {
  if (!job.spec?.podFailurePolicy) return undefined;
  for (const pod of pods) {
    const message = hasFailed(job, pod) ? judgeFailure(job, pod).message : undefined;
    if (message !== undefined) return message;
  }
  return undefined;
}

/** Containers that start again in their pod: each time is a failure, too. */
function hasTooManyRestarts({ spec }: Job, pods: readonly Pod[]): boolean {
  if (spec?.template?.spec?.restartPolicy !== 'OnFailure') return false;
  const going = pods.filter(({ status }) => status?.phase === 'Running' || status?.phase === 'Pending');
  const containers = going.flatMap(({ status }) => [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
  ]);
  const restarts = containers.reduce((sum, { restartCount = 0 }) => sum + restartCount, 0);
  return restarts > 0 && restarts >= (spec.backoffLimit ?? 0);
}

/** How long the Job may still be active; undefined: without end. */
export function deadlineLeftMs(job: Job, now: number): number | undefined {
  const { activeDeadlineSeconds } = job.spec ?? {};
  if (activeDeadlineSeconds === undefined || isSuspended(job)) return undefined;
  const startedAt = job.status?.startTime ? toMillis(job.status.startTime) : now;
  return Math.max(0, startedAt + activeDeadlineSeconds * 1000 - now);
}

function endOfIndexes(job: Job, { succeededIndexes, failedIndexes }: Tally): Ending | undefined {
  if (!succeededIndexes) return undefined;
  const { maxFailedIndexes, completions = 0 } = job.spec ?? {};
  const failed = failedIndexes?.size ?? 0;
  if (maxFailedIndexes !== undefined && failed > maxFailedIndexes)
    return failure('MaxFailedIndexesExceeded', 'Job has exceeded the specified maximal number of failed indexes');
  if (failed > 0 && failed + succeededIndexes.size >= completions) return failure('FailedIndexes', 'Job has failed indexes');
  const matched = meetsSuccessPolicy(job, succeededIndexes);
  return matched === undefined ? undefined : success('SuccessPolicy', matched);
}

/** A Job without completions is complete when a pod has succeeded and no other runs any more. */
function completion({ spec }: Job, { succeeded, active }: Tally): Ending | undefined {
  if (active.length > 0 || succeeded < (spec?.completions ?? 1)) return undefined;
  return success('CompletionsReached', 'Reached expected number of succeeded pods');
}
