import type { Job, JobCondition, JobStatus, Pod, Timestamp } from '../../api/generated/types.ts';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import { findCondition, isConditionTrue } from '../../api/meta/conditions.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { secondsTimestamp } from '../../api/meta/time.ts';
import type { Counts } from './decide-counts.ts';
import type { Ending } from './ending.ts';
import { isSuspended, isTracked } from './job-facts.ts';
import type { Tally } from './tally.ts';

/** An event about the Job. */
export interface Note {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** What was made and deleted since the pods were looked at. */
export interface Outcome {
  readonly created: number;
  readonly removed: readonly Pod[];
}

export interface StatusInput {
  readonly job: Job;
  readonly pods: readonly Pod[];
  readonly tally: Tally;
  readonly ending: Ending | undefined;
  readonly counts: Counts;
  readonly outcome: Outcome;
  readonly now: number;
}

export interface StatusPlan {
  /** Undefined when it is as it should be. */
  readonly status: JobStatus | undefined;
  /** To be told once the status is written. */
  readonly notes: readonly Note[];
}

/** The Job's next status. The API server's rules for it: api/kinds/job/validate-status.ts. */
export function decideStatus(input: StatusInput): StatusPlan {
  const { job, tally, counts, outcome, now } = input;
  const { release: _, ...counted } = counts;
  const removed = outcome.removed.length;
  const base: JobStatus = {
    ...job.status,
    ...counted,
    active: tally.active.length - removed + outcome.created,
    ready: tally.ready - outcome.removed.filter(isPodReady).length,
    terminating: tally.terminating + removed,
  };
  const { status, notes } = withConditions(input, base, secondsTimestamp(new Date(now)));
  return { status: isSameStatus(status, job.status) ? undefined : status, notes };
}

function withConditions(
  { job, pods, ending, ...input }: StatusInput,
  base: JobStatus,
  now: Timestamp,
): StatusPlan & { status: JobStatus } {
  const isGoingAway = job.metadata?.deletionTimestamp !== undefined;
  if (!ending) return isGoingAway ? { status: base, notes: [] } : withSuspension(job, base, now);
  const { target, last, reason, message } = ending;
  const status: JobStatus = { ...base, startTime: base.startTime ?? now };
  const add = (type: string): void => {
    if (!isConditionTrue(status.conditions, type))
      status.conditions = setJobCondition(status.conditions, { type, status: 'True', reason, message }, now);
  };
  add(target);
  if (isConditionTrue(status.conditions, last) || !isOver({ pods, ...input })) return { status, notes: [] };
  add(last);
  if (last === 'Failed') return { status, notes: [{ type: 'Warning', reason, message }] };
  status.completionTime = now;
  return { status, notes: completionNotes(job, status) };
}

/** Whether no pod is left that runs, ends or is still to be counted. */
function isOver({ pods, tally, counts }: Pick<StatusInput, 'pods' | 'tally' | 'counts'>): boolean {
  const { succeeded = [], failed = [] } = counts.uncountedTerminatedPods;
  if (tally.active.length + tally.terminating + succeeded.length + failed.length > 0) return false;
  return !pods.some(isTracked);
}

function completionNotes({ spec }: Job, { succeeded = 0 }: JobStatus): Note[] {
  const completed: Note = { type: 'Normal', reason: 'Completed', message: 'Job completed' };
  if (spec?.completions === undefined || succeeded <= spec.completions) return [completed];
  const message = 'Too many succeeded pods running after completion count reached';
  return [{ type: 'Warning', reason: 'TooManySucceededPods', message }, completed];
}

/** A Job that is suspended has no start; one that goes on starts anew, so that its deadline counts from then. */
function withSuspension(job: Job, base: JobStatus, now: Timestamp): StatusPlan & { status: JobStatus } {
  const known = findCondition(base.conditions, 'Suspended');
  const set = (status: 'True' | 'False', reason: string, message: string): JobCondition[] =>
    setJobCondition(base.conditions, { type: 'Suspended', status, reason, message }, now);
  if (isSuspended(job)) {
    const { startTime: _, ...stopped } = base;
    if (known?.status === 'True') return { status: stopped, notes: [] };
    const conditions = set('True', 'JobSuspended', 'Job suspended');
    return { status: { ...stopped, conditions }, notes: [{ type: 'Normal', reason: 'Suspended', message: 'Job suspended' }] };
  }
  const started = { ...base, startTime: base.startTime ?? now };
  if (known?.status !== 'True') return { status: started, notes: [] };
  const conditions = set('False', 'JobResumed', 'Job resumed');
  return { status: { ...started, conditions }, notes: [{ type: 'Normal', reason: 'Resumed', message: 'Job resumed' }] };
}

function setJobCondition(conditions: readonly JobCondition[] = [], next: JobCondition, now: Timestamp): JobCondition[] {
  const condition = { ...next, lastProbeTime: now, lastTransitionTime: now };
  return [...conditions.filter(({ type }) => type !== next.type), condition];
}

/** Absent numbers and texts are 0 and empty. */
function isSameStatus(next: JobStatus, before: JobStatus = {}): boolean {
  const complete = ({ uncountedTerminatedPods: uncounted, ...status }: JobStatus) => ({
    ...status,
    conditions: status.conditions ?? [],
    active: status.active ?? 0,
    succeeded: status.succeeded ?? 0,
    failed: status.failed ?? 0,
    completedIndexes: status.completedIndexes ?? '',
    uncounted: [uncounted?.succeeded ?? [], uncounted?.failed ?? []],
  });
  return equalValues(complete(next), complete(before));
}
