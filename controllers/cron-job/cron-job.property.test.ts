import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { CronJob, Job } from '../../api/generated/types.ts';
import { parseSchedule } from '../../api/kinds/cron-job/schedule.ts';
import { secondsTimestamp } from '../../api/meta/time.ts';
import { endOf } from '../job/job-facts.ts';
import { computeCronStatus, decideCronJob, decideHistory } from './decide.ts';
import { newJob } from './new-job.ts';

const start = Date.UTC(2026, 0, 1, 9, 30);
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 400_000 }) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('outage' as const), ms: fc.integer({ min: 1, max: 10 * 86_400_000 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constantFrom('finish' as const, 'fail' as const, 'die' as const), ms: fc.nat(3) }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('set back' as const), ms: fc.integer({ min: 1, max: 3_000_000 }) }) },
);
const spec = fc.record({
  schedule: fc.constantFrom('* * * * *', '*/5 * * * *', '0 * * * *', '30 2 * * *', '@every 90s'),
  concurrencyPolicy: fc.constantFrom('Allow', 'Forbid', 'Replace'),
  successfulJobsHistoryLimit: fc.nat(3),
  failedJobsHistoryLimit: fc.nat(2),
});

it('starts each time once and one Job a look, within its policy and history, whatever fails', () => {
  fc.assert(
    fc.property(spec, fc.array(step, { maxLength: 40 }), (wanted, steps) => {
      const schedule = parseSchedule(wanted.schedule, 'UTC');
      const metadata = { namespace: 'a', name: 'tick', uid: 'c', creationTimestamp: secondsTimestamp(new Date(start)) };
      let cronJob: CronJob = { metadata, spec: wanted };
      let jobs: Job[] = [];
      let now = start;
      const started = new Set<string>();
      const look = (dies: boolean): void => {
        const plan = decideCronJob(cronJob, jobs, schedule, now);
        expect(plan.againMs).toBeGreaterThan(0);
        jobs = jobs.filter((job) => !plan.replace.includes(job));
        let made: Job | undefined;
        if (plan.start !== undefined) {
          made = { ...newJob(cronJob, plan.start), status: { startTime: secondsTimestamp(new Date(now)) } };
          made.metadata = { ...made.metadata, uid: `j${started.size}` };
          const { name = '' } = made.metadata;
          expect(started.has(name), `${name} is started twice`).toBe(false);
          expect(plan.start).toBeLessThanOrEqual(now);
          started.add(name);
          jobs = [...jobs, made];
        }
        if (wanted.concurrencyPolicy !== 'Allow') expect(jobs.filter((job) => !endOf(job)).length).toBeLessThanOrEqual(1);
        // A process that dies here has made the Job, and not said so.
        if (dies) return;
        const outcome = { started: made && { at: plan.start!, job: made }, deleted: plan.replace };
        const status = computeCronStatus(cronJob, jobs, outcome);
        if (status) cronJob = { ...cronJob, status };
        const old = decideHistory(cronJob, jobs);
        jobs = jobs.filter((job) => !old.includes(job));
        // Looked at again, nothing more is to be done.
        expect(decideCronJob(cronJob, jobs, schedule, now)).toMatchObject({ start: undefined });
        expect(computeCronStatus(cronJob, jobs, { started: undefined, deleted: [] })).toBeUndefined();
      };
      for (const { type, ms } of steps) {
        if (type === 'wait' || type === 'outage') now += ms;
        else if (type === 'set back') now -= ms;
        else if (type !== 'die') {
          const running = jobs.filter((job) => !endOf(job));
          const chosen = running[ms % Math.max(1, running.length)];
          const end = { type: type === 'fail' ? 'Failed' : 'Complete', status: 'True' };
          jobs = jobs.map((job) => (job === chosen ? { ...job, status: { ...job.status, conditions: [end] } } : job));
        }
        look(type === 'die');
      }
      look(false);
      const of = (end: string) => jobs.filter((job) => endOf(job) === end).length;
      expect(of('Complete')).toBeLessThanOrEqual(wanted.successfulJobsHistoryLimit);
      expect(of('Failed')).toBeLessThanOrEqual(wanted.failedJobsHistoryLimit);
    }),
    { numRuns: 150 },
  );
});
