import { describe, expect, it } from 'vitest';
import type { CronJob, CronJobSpec, CronJobStatus, Job } from '../../api/generated/types.ts';
import { parseSchedule } from '../../api/kinds/cron-job/schedule.ts';
import { controllerReference } from '../../api/meta/owner.ts';
import { secondsTimestamp } from '../../api/meta/time.ts';
import { computeCronStatus, decideCronJob, decideHistory } from './decide.ts';
import { formatTime, jobNameAt, newJob, scheduledAt } from './new-job.ts';

const at = (text: string): number => Date.parse(`2026-01-${text}Z`);
const time = (text: string) => secondsTimestamp(new Date(at(text)));
const created = time('01T09:30:00');

function cron(spec: CronJobSpec = {}, status: CronJobStatus = {}): CronJob {
  const metadata = { namespace: 'a', name: 'tick', uid: 'c1', creationTimestamp: created };
  return { metadata, spec: { schedule: '0 * * * *', concurrencyPolicy: 'Allow', ...spec }, status };
}

/** A Job that the CronJob made for a time. */
function jobAt(text: string, end?: 'Complete' | 'Failed', more: Job['status'] = {}): Job {
  const job = newJob(cron(), at(text));
  const conditions = end ? [{ type: end, status: 'True' }] : [];
  return { ...job, metadata: { ...job.metadata, uid: `j${text}` }, status: { startTime: time(text), conditions, ...more } };
}

function manual(name: string, end?: 'Complete' | 'Failed'): Job {
  const annotations = { 'cronjob.kubernetes.io/instantiate': 'manual' };
  const ownerReferences = [controllerReference({ apiVersion: 'batch/v1', kind: 'CronJob' }, cron())];
  const conditions = end ? [{ type: end, status: 'True' }] : [];
  return { metadata: { namespace: 'a', name, uid: name, annotations, ownerReferences }, status: { conditions } };
}

const plan = (cronJob: CronJob, jobs: readonly Job[], now: string) => {
  const schedule = parseSchedule(cronJob.spec?.schedule ?? '', 'UTC');
  const { start, replace, notes, againMs } = decideCronJob(cronJob, jobs, schedule, at(now));
  return {
    start: start === undefined ? undefined : new Date(start).toISOString().slice(8, 19),
    replace: replace.map(({ metadata }) => metadata?.name),
    notes: notes.map(({ type, reason, message }) => `${type} ${reason}: ${message}`),
    againMs,
  };
};

describe('a CronJob starts', () => {
  const last = (text: string): CronJobStatus => ({ lastScheduleTime: time(text) });
  type Row = [title: string, spec: CronJobSpec, status: CronJobStatus, jobs: Job[], now: string, start: string | undefined];
  const rows: Row[] = [
    ['nothing before its first time', {}, {}, [], '01T09:59:59', undefined],
    ['a Job at its time', {}, {}, [], '01T10:00:00', '01T10:00:00'],
    ['a Job that is late', {}, last('01T10:00:00'), [], '01T11:20:00', '01T11:00:00'],
    ['nothing twice', {}, last('01T10:00:00'), [], '01T10:00:01', undefined],
    ['nothing twice, where only the Job says so', {}, {}, [jobAt('01T10:00:00')], '01T10:00:01', undefined],
    ['the last of the times that were missed', {}, last('01T10:00:00'), [], '01T20:10:00', '01T20:00:00'],
    ['the last of more than 100', {}, last('01T10:00:00'), [], '09T20:10:00', '09T20:00:00'],
    ['nothing while it is suspended', { suspend: true }, {}, [], '01T10:00:00', undefined],
    ['what is within its deadline', { startingDeadlineSeconds: 60 }, {}, [], '01T10:01:00', '01T10:00:00'],
    ['nothing after its deadline', { startingDeadlineSeconds: 60 }, {}, [], '01T10:01:01', undefined],
    ['a second Job beside the first, with Allow', {}, last('01T10:00:00'), [jobAt('01T10:00:00')], '01T11:00:00', '01T11:00:00'],
    [
      'nothing beside another, with Forbid',
      { concurrencyPolicy: 'Forbid' },
      last('01T10:00:00'),
      [jobAt('01T10:00:00')],
      '01T11:00:00',
      undefined,
    ],
    [
      'a Job after the other has ended, with Forbid',
      { concurrencyPolicy: 'Forbid' },
      last('01T10:00:00'),
      [jobAt('01T10:00:00', 'Failed')],
      '01T11:05:00',
      '01T11:00:00',
    ],
    [
      'a Job beside one that a person started, with Forbid',
      { concurrencyPolicy: 'Forbid' },
      {},
      [manual('m')],
      '01T10:00:00',
      '01T10:00:00',
    ],
    ['nothing that a clock had run which was ahead', {}, last('01T15:00:00'), [], '01T11:00:00', undefined],
    [
      'what is due after a clock that was far ahead',
      {},
      { lastScheduleTime: { seconds: 4e9 } },
      [],
      '01T11:01:30',
      '01T11:00:00',
    ],
    ['nothing long past after such a clock', {}, { lastScheduleTime: { seconds: 4e9 } }, [], '01T11:30:00', undefined],
  ];
  it.each(rows)('%s', (_, spec, status, jobs, now, start) => {
    expect(plan(cron(spec, status), jobs, now).start).toBe(start);
  });

  it('in place of those that run, with Replace', () => {
    const jobs = [jobAt('01T09:00:00', 'Complete'), jobAt('01T10:00:00'), manual('m')];
    const { start, replace } = plan(cron({ concurrencyPolicy: 'Replace' }), jobs, '01T11:00:00');
    expect([start, replace]).toEqual(['01T11:00:00', [jobNameAt(cron(), at('01T10:00:00'))]]);
  });

  it('nothing when it is being deleted, or its schedule cannot be read', () => {
    const gone = cron();
    gone.metadata = { ...gone.metadata, deletionTimestamp: created };
    expect(plan(gone, [], '01T10:00:00').start).toBeUndefined();
    expect(decideCronJob(cron(), [], undefined, at('01T10:00:00'))).toMatchObject({ start: undefined, againMs: undefined });
  });

  it('later: it is looked at at the next time, and once a minute because clocks may be set', () => {
    expect(plan(cron(), [], '01T09:59:58').againMs).toBe(2_000);
    expect(plan(cron(), [], '01T09:31:00').againMs).toBe(60_000);
  });
});

describe('a CronJob is told', () => {
  const active = (...jobs: Job[]) => jobs.map(({ metadata }) => ({ name: metadata?.name ?? '', uid: metadata?.uid ?? '' }));
  it('of Jobs that have ended, are missing or not its own', () => {
    const [done, gone] = [jobAt('01T10:00:00', 'Failed'), jobAt('01T08:00:00')];
    const status = { lastScheduleTime: time('01T10:00:00'), active: active(done, gone) };
    expect(plan(cron({}, status), [done, manual('m'), manual('n', 'Complete')], '01T10:00:01').notes).toEqual([
      `Normal SawCompletedJob: Saw completed job: ${done.metadata?.name}, condition: Failed`,
      'Warning UnexpectedJob: Saw a job that the controller did not create or forgot: m',
      `Normal MissingJob: Active job went missing: ${gone.metadata?.name}`,
    ]);
  });

  it('of a time that was missed, of many, and of another Job that runs', () => {
    expect(plan(cron({ startingDeadlineSeconds: 5 }), [], '01T10:01:00').notes).toEqual([
      'Warning MissSchedule: Missed scheduled time to start a job: Thu, 01 Jan 2026 10:00:00 +0000',
    ]);
    expect(plan(cron(), [], '09T10:01:00').notes).toEqual([
      'Warning TooManyMissedTimes: too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
    ]);
    expect(plan(cron({ concurrencyPolicy: 'Forbid' }), [jobAt('01T10:00:00')], '09T10:01:00').notes).toEqual([
      'Normal JobAlreadyActive: Not starting job because prior execution is running and concurrency policy is Forbid',
    ]);
    expect(plan(cron({ startingDeadlineSeconds: 3_600 }), [], '09T10:01:00').notes).toEqual([]);
  });
});

describe('the status of a CronJob', () => {
  const none = { started: undefined, deleted: [] };
  it('lists the Jobs of its times that run, and when it last started and succeeded', () => {
    const jobs = [
      jobAt('01T12:00:00'),
      jobAt('01T11:00:00'),
      jobAt('01T10:00:00', 'Complete', { completionTime: time('01T10:07:00') }),
      manual('m'),
    ];
    const status = computeCronStatus(cron(), jobs, none);
    expect(status?.active?.map(({ uid }) => uid)).toEqual(['j01T11:00:00', 'j01T12:00:00']);
    expect(status?.active?.[0]).toMatchObject({ apiVersion: 'batch/v1', kind: 'Job', namespace: 'a' });
    expect(status).toMatchObject({ lastScheduleTime: time('01T12:00:00'), lastSuccessfulTime: time('01T10:07:00') });
    expect(computeCronStatus(cron({}, status), jobs, none)).toBeUndefined();
  });

  it('has what was just started, and not what was just deleted', () => {
    const [old, next] = [jobAt('01T10:00:00'), jobAt('01T11:00:00')];
    const status = computeCronStatus(cron(), [old], { started: { at: at('01T11:00:00'), job: next }, deleted: [old] });
    expect(status).toMatchObject({ active: [{ uid: 'j01T11:00:00' }], lastScheduleTime: time('01T11:00:00') });
  });

  it('keeps the last success of a Job that is gone', () => {
    const before = { lastSuccessfulTime: time('01T10:07:00') };
    const jobs = [jobAt('01T09:00:00', 'Complete', { completionTime: time('01T09:07:00') })];
    expect(computeCronStatus(cron({}, before), jobs, none)).toMatchObject(before);
  });
});

describe('the history of a CronJob', () => {
  it('keeps the Jobs that were started last, of each end so many, those of people among them', () => {
    const jobs = [
      jobAt('01T12:00:00', 'Complete'),
      jobAt('01T11:00:00', 'Complete'),
      jobAt('01T10:00:00', 'Complete'),
      jobAt('01T09:00:00', 'Failed'),
      jobAt('01T08:00:00'),
      { ...manual('m', 'Complete'), status: { ...manual('m', 'Complete').status, startTime: time('01T10:30:00') } },
    ];
    const gone = decideHistory(cron({ successfulJobsHistoryLimit: 2, failedJobsHistoryLimit: 0 }), jobs);
    expect(gone.map(({ metadata }) => metadata?.uid)).toEqual(['j01T10:00:00', 'm', 'j01T09:00:00']);
    expect(decideHistory(cron(), jobs)).toEqual([]);
  });
});

describe('the Job of a time', () => {
  it('has its name and its annotation from the time', () => {
    const jobTemplate = { metadata: { labels: { l: '1' }, annotations: { a: '1' } }, spec: { parallelism: 2 } };
    const job = newJob(cron({ jobTemplate, timeZone: 'Europe/Berlin' }), at('01T10:00:00'));
    expect(job).toMatchObject({
      metadata: {
        name: `tick-${at('01T10:00:00') / 60_000}`,
        namespace: 'a',
        labels: { l: '1' },
        annotations: { a: '1', 'batch.kubernetes.io/cronjob-scheduled-timestamp': '2026-01-01T11:00:00+01:00' },
        ownerReferences: [{ apiVersion: 'batch/v1', kind: 'CronJob', name: 'tick', uid: 'c1', controller: true }],
      },
      spec: { parallelism: 2 },
    });
    expect(scheduledAt(cron(), job)).toBe(at('01T10:00:00'));
    expect(scheduledAt(cron(), { metadata: { ...job.metadata, name: 'copy' } })).toBeUndefined();
  });

  it.each([
    ['UTC', '2026-03-29T01:00:00Z'],
    ['Europe/Berlin', '2026-03-29T03:00:00+02:00'],
    ['America/New_York', '2026-03-28T21:00:00-04:00'],
    ['Asia/Kolkata', '2026-03-29T06:30:00+05:30'],
    ['Europe/London', '2026-03-29T02:00:00+01:00'],
  ])('in %s is written %s', (zone, text) => {
    expect(formatTime(Date.UTC(2026, 2, 29, 1), zone)).toBe(text);
  });
});
