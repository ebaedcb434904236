import { afterEach, describe, expect, it } from 'vitest';
import { alreadyExists, invalid, unavailable } from '../../api/errors/index.ts';
import type { CronJob, CronJobSpec, Job } from '../../api/generated/types.ts';
import { createInformer } from '../../client/index.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import { runController } from '../controller.ts';
import { ownedIndexers } from '../owned-pods/pod-index.ts';
import { CronJobController } from './controller.ts';

let end = async () => {};
afterEach(() => end());

const hourMs = 3_600_000;
const cron = (spec: CronJobSpec = {}): CronJob => ({
  metadata: { namespace: 'a', name: 'tick', uid: 'c1', creationTimestamp: { seconds: Date.UTC(2026, 0, 1) / 1000 } },
  spec: {
    schedule: '0 * * * *',
    timeZone: 'UTC',
    concurrencyPolicy: 'Allow',
    successfulJobsHistoryLimit: 1,
    failedJobsHistoryLimit: 1,
    ...spec,
  },
});

async function setup(cronJob: CronJob, objects: Job[] = []) {
  const [clock, logger] = [createFakeClock(), createFakeLogger()];
  const cronJobs = createFakeResourceClient<CronJob>({ kind: 'CronJob', objects: [cronJob] });
  const jobs = createFakeResourceClient<Job>({ kind: 'Job', objects });
  const told: string[] = [];
  const events = {
    event: (_: unknown, type: string, reason: string, text: string) => void told.push(`${type} ${reason}: ${text}`),
  };
  const informers = {
    cronJobs: createInformer<CronJob>({ client: cronJobs, name: 'cronjobs', clock, logger }),
    jobs: createInformer<Job>({ client: jobs, name: 'jobs', indexers: ownedIndexers, clock, logger }),
  };
  const context = { events: events as never, clock };
  const clients = { client: cronJobs, jobClient: jobs, writes: cronJobs, jobWrites: jobs };
  const stop = new AbortController();
  const controller = new CronJobController({ context, ...informers, ...clients });
  const running = [
    informers.cronJobs.run(stop.signal),
    informers.jobs.run(stop.signal),
    runController(controller, { clock, logger }, stop.signal),
  ];
  end = async () => {
    stop.abort();
    await Promise.all(running);
  };
  await clock.advance(0);
  const finish = (at: number, type: 'Complete' | 'Failed') => {
    const job = jobs.stored(`a/${nameAt(at)}`)!;
    jobs.put({ ...job, status: { conditions: [{ type, status: 'True' }], startTime: { seconds: at } } });
  };
  const names = () => jobs.objects().map(({ metadata }) => metadata?.name);
  return { clock, logger, cronJobs, jobs, told, finish, names };
}

const nameAt = (hours: number): string => `tick-${(Date.UTC(2026, 0, 1) + hours * hourMs) / 60_000}`;

describe('a CronJob', () => {
  it('starts a Job each hour, says so, and keeps as many as its history has room for', async () => {
    const { clock, cronJobs, told, finish, names } = await setup(cron());
    await clock.advance(hourMs - 1_000);
    expect(names()).toEqual([]);
    await clock.advance(1_500);
    expect(names()).toEqual([nameAt(1)]);
    expect(cronJobs.stored('a/tick')?.status).toMatchObject({
      active: [{ name: nameAt(1) }],
      lastScheduleTime: { seconds: 1_767_229_200 },
    });
    finish(1, 'Complete');
    await clock.advance(hourMs);
    finish(2, 'Complete');
    await clock.advance(1_000);
    expect(names()).toEqual([nameAt(2)]);
    expect(cronJobs.stored('a/tick')?.status?.active).toEqual([]);
    expect(told).toEqual([
      `Normal SuccessfulCreate: Created job ${nameAt(1)}`,
      `Normal SawCompletedJob: Saw completed job: ${nameAt(1)}, condition: Complete`,
      `Normal SuccessfulCreate: Created job ${nameAt(2)}`,
      `Normal SawCompletedJob: Saw completed job: ${nameAt(2)}, condition: Complete`,
      `Normal SuccessfulDelete: Deleted job ${nameAt(1)}`,
    ]);
  });

  it('waits with one timer', async () => {
    const { clock } = await setup(cron());
    await clock.advance(30_000);
    const before = clock.pending;
    await clock.advance(5 * hourMs);
    expect(clock.pending).toBe(before);
  });

  it('starts within a minute what a clock that was set forward made due', async () => {
    const { clock, names } = await setup(cron());
    await clock.advance(60_000);
    clock.skew(10 * hourMs);
    await clock.advance(61_000);
    expect(names()).toEqual([nameAt(10)]);
  });

  it('makes one Job when the answer to the create was lost', async () => {
    const { clock, jobs, names, cronJobs } = await setup(cron());
    const create = jobs.create.bind(jobs);
    let calls = 0;
    jobs.create = async (...args) => {
      const made = await create(...args);
      if (++calls === 1) throw unavailable('gone');
      return made;
    };
    await clock.advance(hourMs + 10_000);
    expect(names()).toEqual([nameAt(1)]);
    expect(cronJobs.stored('a/tick')?.status?.active).toMatchObject([{ name: nameAt(1) }]);
  });

  it('leaves a Job of the name that is not its own, and goes on with the next time', async () => {
    const { clock, told, names } = await setup(cron(), [{ metadata: { namespace: 'a', name: nameAt(1) } }]);
    await clock.advance(hourMs + 1_000);
    expect(told[0]).toMatch(/^Warning FailedCreate: Error creating job: .*already exists/);
    await clock.advance(hourMs);
    expect(names()).toEqual([nameAt(1), nameAt(2)]);
  });

  it('says why a Job is refused, and tries again', async () => {
    const { clock, jobs, told, names } = await setup(cron());
    jobs.failNext('create', invalid({ kind: 'Job', name: 'x' }, []), 2);
    await clock.advance(hourMs + 10_000);
    expect(told.map((text) => text.split(':')[0])).toEqual([
      'Warning FailedCreate',
      'Warning FailedCreate',
      'Normal SuccessfulCreate',
    ]);
    expect(names()).toEqual([nameAt(1)]);
  });

  it('replaces the Job that runs', async () => {
    const { clock, cronJobs, told, names } = await setup(cron({ concurrencyPolicy: 'Replace' }));
    await clock.advance(2 * hourMs + 1_000);
    expect(names()).toEqual([nameAt(2)]);
    expect(cronJobs.stored('a/tick')?.status?.active).toMatchObject([{ name: nameAt(2) }]);
    expect(told.map((text) => text.split(':')[0])).toEqual([
      'Normal SuccessfulCreate',
      'Normal SuccessfulDelete',
      'Normal SuccessfulCreate',
    ]);
  });

  it('tells once that another Job runs', async () => {
    const { clock, told } = await setup(cron({ concurrencyPolicy: 'Forbid' }));
    await clock.advance(2 * hourMs + 600_000);
    expect(told.filter((text) => text.includes('JobAlreadyActive'))).toHaveLength(1);
  });

  it('with a time zone that this machine does not know is told so, once', async () => {
    const { clock, told } = await setup(cron({ timeZone: 'Mars/Olympus' }));
    await clock.advance(3 * hourMs);
    expect(told).toEqual(['Warning UnknownTimeZone: invalid timeZone: "Mars/Olympus": unknown time zone Mars/Olympus']);
  });

  it('that another made the Job for is told nothing of it', async () => {
    const { clock, jobs, told } = await setup(cron());
    jobs.failNext('create', alreadyExists({ kind: 'Job', name: nameAt(1) }));
    const own = { apiVersion: 'batch/v1', kind: 'CronJob', name: 'tick', uid: 'c1', controller: true };
    jobs.put({ metadata: { namespace: 'a', name: nameAt(1), ownerReferences: [own] } });
    await clock.advance(hourMs + 1_000);
    expect(told.filter((text) => text.includes('Create'))).toEqual([]);
  });
});
