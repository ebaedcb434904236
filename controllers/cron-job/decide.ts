import type { CronJob, CronJobStatus, Job, ObjectReference, Timestamp } from '../../api/generated/types.ts';
import type { Schedule } from '../../api/kinds/cron-job/schedule.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { compareTimestamps, secondsTimestamp, toMillis } from '../../api/meta/time.ts';
import { referenceTo } from '../../client/index.ts';
import { endOf } from '../job/job-facts.ts';
import { jobNameAt, scheduledAt } from './new-job.ts';

/** More missed times than this cause an event; the last one is still started. */
const manyMissed = 100;
/** A last time further ahead of now than this was written by a wrong clock, and is ignored. */
const implausibleMs = 24 * 3_600_000;
/**
 * The longest wait between two looks at a CronJob, because clocks may be set. Where the last time is implausible, the
 * times of the last two such waits count as due.
 */
export const longestWaitMs = 60_000;

/** An event; written once for the same `about`. */
export interface Note {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly about: string;
}

export interface CronPlan {
  /** The time that is to be started now. */
  readonly start: number | undefined;
  /** Jobs that go before that. */
  readonly replace: readonly Job[];
  readonly notes: readonly Note[];
  /** When to look again; undefined: when something changes. */
  readonly againMs: number | undefined;
}

const note = (type: Note['type'], reason: string, message: string, about: string): Note => ({ type, reason, message, about });

/**
 * What to start. Of all times that were missed at most the last one is started, as long as its deadline has not
 * passed. `jobs` are those that the CronJob controls. `schedule` is undefined where it cannot be read any more.
 */
export function decideCronJob(cronJob: CronJob, jobs: readonly Job[], schedule: Schedule | undefined, now: number): CronPlan {
  const { suspend, startingDeadlineSeconds, concurrencyPolicy } = cronJob.spec ?? {};
  const seen = noteJobs(cronJob, jobs);
  const wait = (notes: readonly Note[], againMs?: number): CronPlan => ({
    start: undefined,
    replace: [],
    notes: [...seen, ...notes],
    againMs,
  });
  if (cronJob.metadata?.deletionTimestamp || suspend || !schedule) return wait([]);
  const nextAt = schedule.next(new Date(now))?.getTime();
  const againMs = nextAt === undefined ? longestWaitMs : Math.min(longestWaitMs, Math.max(1, nextAt - now));
  const after = lastTime(cronJob, jobs, now);
  const due = after < now ? schedule.missed(new Date(after), new Date(now), 1).latest?.getTime() : undefined;
  // A Job of the name is the one for this time: also where a schedule has several in a minute, or a clock was set back.
  if (due === undefined || jobs.some(({ metadata }) => metadata?.name === jobNameAt(cronJob, due))) return wait([], againMs);
  const deadlineMs = startingDeadlineSeconds === undefined ? Infinity : startingDeadlineSeconds * 1000;
  if (due + deadlineMs < now) {
    const message = `Missed scheduled time to start a job: ${new Date(due).toUTCString().replace(/GMT$/, '+0000')}`;
    return wait([note('Warning', 'MissSchedule', message, String(due))], againMs);
  }
  const active = jobs.filter((job) => !endOf(job) && scheduledAt(cronJob, job) !== undefined);
  if (concurrencyPolicy === 'Forbid' && active.length > 0) {
    const message = 'Not starting job because prior execution is running and concurrency policy is Forbid';
    return wait([note('Normal', 'JobAlreadyActive', message, String(due))], againMs);
  }
  const replace = concurrencyPolicy === 'Replace' ? active.filter(({ metadata }) => !metadata?.deletionTimestamp) : [];
  const many = noteMany(schedule, Math.max(after, now - deadlineMs), now, due);
  return { start: due, replace, notes: [...seen, ...many], againMs };
}

function noteMany(schedule: Schedule, after: number, now: number, due: number): Note[] {
  if (schedule.missed(new Date(after), new Date(now), manyMissed + 1).count <= manyMissed) return [];
  const message = 'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew';
  return [note('Warning', 'TooManyMissedTimes', message, String(due))];
}

/** The last time that was started, or was before the CronJob; what is later is due. */
function lastTime(cronJob: CronJob, jobs: readonly Job[], now: number): number {
  const { creationTimestamp } = cronJob.metadata ?? {};
  const { lastScheduleTime } = cronJob.status ?? {};
  const started = jobs.flatMap((job) => scheduledAt(cronJob, job) ?? []);
  const since = lastScheduleTime ?? creationTimestamp;
  const last = Math.max(since ? toMillis(since) : now, ...started);
  return last > now + implausibleMs ? now - 2 * longestWaitMs : last;
}

function noteJobs(cronJob: CronJob, jobs: readonly Job[]): Note[] {
  const known = new Set(cronJob.status?.active?.map(({ uid }) => uid));
  const present = new Set(jobs.map(({ metadata }) => metadata?.uid));
  const ofJobs = jobs.flatMap((job): Note[] => {
    const { name, uid = '' } = job.metadata ?? {};
    const end = endOf(job);
    if (known.has(uid) && end) return [note('Normal', 'SawCompletedJob', `Saw completed job: ${name}, condition: ${end}`, uid)];
    if (known.has(uid) || end || scheduledAt(cronJob, job) !== undefined) return [];
    return [note('Warning', 'UnexpectedJob', `Saw a job that the controller did not create or forgot: ${name}`, uid)];
  });
  const missing = (cronJob.status?.active ?? []).filter(({ uid }) => !present.has(uid));
  return [
    ...ofJobs,
    ...missing.map(({ name, uid = '' }) => note('Normal', 'MissingJob', `Active job went missing: ${name}`, uid)),
  ];
}

/** What was done since the Jobs were looked at. */
export interface CronOutcome {
  readonly started: { readonly at: number; readonly job: Job } | undefined;
  readonly deleted: readonly Job[];
}

/** The status as it should be; undefined when it is so. */
export function computeCronStatus(
  cronJob: CronJob,
  jobs: readonly Job[],
  { started, deleted }: CronOutcome,
): CronJobStatus | undefined {
  const { status = {} } = cronJob;
  const all = started ? [...jobs.filter(({ metadata }) => metadata?.uid !== started.job.metadata?.uid), started.job] : jobs;
  const times = all.flatMap((job) => {
    const at = scheduledAt(cronJob, job);
    return at === undefined || deleted.includes(job) ? [] : [{ at, job }];
  });
  const active = times.filter(({ job }) => !endOf(job)).toSorted((a, b) => a.at - b.at);
  const lastStart = started?.at ?? lastKnown(status.lastScheduleTime, times);
  const completions = jobs.flatMap((job) => (endOf(job) === 'Complete' ? (job.status?.completionTime ?? []) : []));
  const lastSuccess = [...(status.lastSuccessfulTime ? [status.lastSuccessfulTime] : []), ...completions]
    .toSorted(compareTimestamps)
    .at(-1);
  const next: CronJobStatus = {
    ...status,
    active: active.map(({ job }) => referenceOf(job, status.active)),
    ...(lastStart !== undefined && { lastScheduleTime: secondsTimestamp(new Date(lastStart)) }),
    ...(lastSuccess && { lastSuccessfulTime: lastSuccess }),
  };
  return equalValues(next, { ...status, active: status.active ?? [] }) ? undefined : next;
}

/** Later than the status says where the process died before it wrote the status. */
function lastKnown(known: Timestamp | undefined, times: readonly { readonly at: number }[]): number | undefined {
  const all = [...(known ? [toMillis(known)] : []), ...times.map(({ at }) => at)];
  return all.length > 0 ? Math.max(...all) : undefined;
}

/** As it stands in the status already, if it does. */
function referenceOf(job: Job, known: readonly ObjectReference[] = []): ObjectReference {
  return known.find(({ uid }) => uid === job.metadata?.uid) ?? referenceTo('Job', job);
}

/** The Jobs that the limits of the history leave no room for: those that were started first. */
export function decideHistory({ spec }: CronJob, jobs: readonly Job[]): Job[] {
  const { successfulJobsHistoryLimit, failedJobsHistoryLimit } = spec ?? {};
  const limits = [
    ['Complete', successfulJobsHistoryLimit],
    ['Failed', failedJobsHistoryLimit],
  ] as const;
  return limits.flatMap(([end, limit]) => {
    if (limit === undefined) return [];
    const ended = jobs.filter((job) => endOf(job) === end && !job.metadata?.deletionTimestamp).toSorted(byStart);
    return ended.slice(0, Math.max(0, ended.length - limit));
  });
}

function byStart(a: Job, b: Job): number {
  const [one, other] = [a.status?.startTime, b.status?.startTime];
  if (!one || !other) return (one ? 0 : 1) - (other ? 0 : 1);
  return compareTimestamps(one, other) || ((a.metadata?.name ?? '') < (b.metadata?.name ?? '') ? -1 : 1);
}
