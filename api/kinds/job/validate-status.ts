import type { FieldViolation } from '../../errors/api-error.ts';
import { duplicate, forbidden, invalidValue, required } from '../../errors/violations.ts';
import type { Job, JobStatus } from '../../generated/types.ts';
import { isConditionTrue } from '../../meta/conditions.ts';
import { equalValues } from '../../meta/equal.ts';
import { compareTimestamps, toRfc3339 } from '../../meta/time.ts';
import { checkRange, type Violations } from '../checks.ts';
import { commonIndex, parseIndexes } from './indexes.ts';

/** Conditions that a job never loses again. */
const FINAL = ['Failed', 'Complete', 'FailureTarget', 'SuccessCriteriaMet'] as const;
type Final = (typeof FINAL)[number];
/** Pairs of conditions that contradict each other. */
const OPPOSITES: readonly (readonly [Final, Final])[] = [
  ['Complete', 'Failed'],
  ['Complete', 'FailureTarget'],
  ['SuccessCriteriaMet', 'Failed'],
  ['SuccessCriteriaMet', 'FailureTarget'],
];
/** Conditions, and those that a job must have before. */
const PREPARED: readonly (readonly [Final, Final])[] = [
  ['Failed', 'FailureTarget'],
  ['Complete', 'SuccessCriteriaMet'],
];
const CONDITIONS = 'status.conditions';

/** A status, and the one before it. What did not change is not judged again: the spec may have changed meanwhile. */
interface Step {
  readonly job: Job;
  readonly now: JobStatus;
  readonly was: JobStatus;
  is(type: Final): boolean;
  had(type: Final): boolean;
  changed(...names: (keyof JobStatus)[]): boolean;
}

export function validateJobStatus(next: Job, previous: Job): FieldViolation[] {
  const out: Violations = [];
  const { status: now = {} } = next;
  const { status: was = {} } = previous;
  const step: Step = {
    job: next,
    now,
    was,
    is: (type) => isConditionTrue(now.conditions, type),
    had: (type) => isConditionTrue(was.conditions, type),
    changed: (...names) => names.some((name) => !equalValues(now[name], was[name])),
  };
  checkCounts(out, step);
  checkUncounted(out, now);
  checkConditions(out, step);
  checkTimes(out, step);
  if (step.is('Complete') || step.is('Failed')) checkFinished(out, step);
  checkIndexes(out, step);
  return out;
}

function checkCounts(out: Violations, { job, now, was, changed }: Step): void {
  for (const name of ['active', 'succeeded', 'failed', 'ready', 'terminating'] as const)
    checkRange(out, 'status', `.${name}`, now[name], 0);
  const { completionMode, completions, parallelism } = job.spec ?? {};
  const mayShrink = completionMode === 'Indexed' && completions === parallelism;
  for (const name of mayShrink ? (['failed'] as const) : (['failed', 'succeeded'] as const))
    if ((now[name] ?? 0) < (was[name] ?? 0))
      out.push(invalidValue(`status.${name}`, now[name] ?? 0, `must not become less than ${was[name]}`));
  if (changed('ready', 'active') && (now.ready ?? 0) > (now.active ?? 0))
    out.push(invalidValue('status.ready', now.ready, 'must not be more than active'));
}

/** Each pod is counted once. */
function checkUncounted(out: Violations, { uncountedTerminatedPods }: JobStatus): void {
  const seen = new Set<string>();
  for (const name of ['succeeded', 'failed'] as const)
    uncountedTerminatedPods?.[name]?.forEach((uid, i) => {
      const field = `status.uncountedTerminatedPods.${name}[${i}]`;
      if (uid === '') out.push(required(field, 'the uid of a pod'));
      else if (seen.has(uid)) out.push(duplicate(field, uid));
      seen.add(uid);
    });
}

function checkConditions(out: Violations, { job, is, had }: Step): void {
  for (const type of FINAL)
    if (had(type) && !is(type)) out.push(forbidden(CONDITIONS, `${type} is final and cannot be taken away`));
  const turned = (...types: Final[]): boolean => types.some((type) => is(type) !== had(type));
  for (const [one, other] of OPPOSITES)
    if (is(one) && is(other) && turned(one, other))
      out.push(invalidValue(CONDITIONS, `${one}, ${other}`, `cannot both be "True"`));
  for (const [type, before] of PREPARED)
    if (is(type) && !is(before) && turned(type, before))
      out.push(invalidValue(CONDITIONS, type, `cannot be "True" without ${before}`));
  if (had('Complete') && !had('SuccessCriteriaMet') && is('SuccessCriteriaMet'))
    out.push(invalidValue(CONDITIONS, 'SuccessCriteriaMet', 'the job is Complete already'));
  if (job.spec?.successPolicy && is('Complete') && !is('SuccessCriteriaMet') && !turned('Complete', 'SuccessCriteriaMet'))
    out.push(invalidValue(CONDITIONS, 'Complete', 'cannot be "True" without SuccessCriteriaMet: the job has a successPolicy'));
}

function checkTimes(out: Violations, { job, now, was, is, had, changed }: Step): void {
  const { startTime, completionTime } = now;
  const at = (time: NonNullable<JobStatus['startTime']>): string => toRfc3339(time);
  if (was.startTime && changed('startTime') && !job.spec?.suspend)
    out.push(required('status.startTime', `of a job that is not suspended it stays ${at(was.startTime)}`));
  if (was.completionTime && completionTime && changed('completionTime'))
    out.push(invalidValue('status.completionTime', at(completionTime), `cannot change, it is ${at(was.completionTime)}`));
  if (startTime && completionTime && changed('startTime', 'completionTime') && compareTimestamps(completionTime, startTime) < 0)
    out.push(invalidValue('status.completionTime', at(completionTime), `must not be before startTime, ${at(startTime)}`));
  if (is('Complete') === had('Complete') && !changed('completionTime')) return;
  if (completionTime && !is('Complete'))
    out.push(invalidValue('status.completionTime', at(completionTime), 'needs the condition Complete'));
  if (!completionTime && is('Complete')) out.push(required('status.completionTime', 'the job is Complete'));
}

/** Of a job that has ended nothing goes on. */
function checkFinished(out: Violations, { now, had, changed }: Step): void {
  const isNew = !had('Complete') && !had('Failed');
  for (const name of ['active', 'terminating'] as const)
    if ((isNew || changed(name)) && (now[name] ?? 0) > 0)
      out.push(invalidValue(`status.${name}`, now[name], 'must be 0 in a job that has ended'));
  if ((isNew || changed('startTime')) && !now.startTime) out.push(required('status.startTime', 'the job has ended'));
  const { succeeded = [], failed = [] } = now.uncountedTerminatedPods ?? {};
  if ((isNew || changed('uncountedTerminatedPods')) && succeeded.length + failed.length > 0)
    out.push(
      invalidValue('status.uncountedTerminatedPods', [...succeeded, ...failed].join(), 'must be empty in a job that has ended'),
    );
}

function checkIndexes(out: Violations, { job, now, changed }: Step): void {
  const { completionMode, completions, backoffLimitPerIndex } = job.spec ?? {};
  const { completedIndexes = '', failedIndexes } = now;
  if (changed('completedIndexes') && completedIndexes !== '' && completionMode !== 'Indexed')
    out.push(invalidValue('status.completedIndexes', completedIndexes, 'needs completionMode Indexed'));
  if (changed('failedIndexes') && failedIndexes !== undefined && backoffLimitPerIndex === undefined)
    out.push(invalidValue('status.failedIndexes', failedIndexes, 'needs backoffLimitPerIndex'));
  if (completions === undefined) return;
  const completed = parseIndexes(completedIndexes, completions);
  const failed = parseIndexes(failedIndexes ?? '', completions);
  if (changed('completedIndexes') && typeof completed === 'string')
    out.push(invalidValue('status.completedIndexes', completedIndexes, completed));
  if (changed('failedIndexes') && typeof failed === 'string')
    out.push(invalidValue('status.failedIndexes', failedIndexes, failed));
  if (typeof completed === 'string' || typeof failed === 'string' || !changed('completedIndexes', 'failedIndexes')) return;
  const common = commonIndex(completed, failed);
  if (common !== undefined)
    out.push(invalidValue('status.failedIndexes', failedIndexes, `index ${common} is among completedIndexes as well`));
}
