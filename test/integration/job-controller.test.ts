import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { CronJob, Job, JobSpec, Pod } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { jobTrackingFinalizer } from '../../api/meta/workload-names.ts';
import type { ResourceClient } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { startControllers } from './controllers-harness.ts';

let server: RunningServer;
let jobs: ResourceClient<Job>;
let cronJobs: ResourceClient<CronJob>;
beforeAll(async () => {
  server = await startServer({ backend: 'memory' });
  jobs = server.client.resource(kindNamed('Job'));
  cronJobs = server.client.resource(kindNamed('CronJob'));
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});
let stopControllers: () => Promise<void>;
beforeEach(async () => {
  stopControllers = await startControllers(server);
});
afterEach(() => stopControllers());

const at = (name: string) => ({ namespace: 'default', name });
const patience = { timeout: 15_000, interval: 50 };

function spec(more: JobSpec = {}): JobSpec {
  return { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'i' }] } }, ...more };
}

async function podsOf(name: string): Promise<Pod[]> {
  const labelSelector = `batch.kubernetes.io/job-name=${name}`;
  return (await server.client.pods.list({ namespace: 'default', labelSelector, limit: 500 })).items;
}

/** Says of the pods that are open how they ended, as an agent would; gives how many there were. */
async function end(name: string, phase: (pod: Pod) => string = () => 'Succeeded'): Promise<number> {
  const open = (await podsOf(name)).filter(({ status, metadata }) => status?.phase === 'Pending' && !metadata?.deletionTimestamp);
  for (const pod of open) {
    const target = { ...at(pod.metadata?.name ?? ''), subresource: 'status', type: 'strategic' } as const;
    await server.client.pods.patch(target, { status: { phase: phase(pod) } });
  }
  return open.length;
}

const tracked = async (name: string) =>
  (await podsOf(name)).filter(({ metadata }) => metadata?.finalizers?.includes(jobTrackingFinalizer));
const statusOf = async (name: string) => (await jobs.get(at(name))).status ?? {};
const reasons = async (name: string) => (await statusOf(name)).conditions?.map(({ type, reason }) => `${type} ${reason}`);

describe('a Job', () => {
  it('runs its pods to completion, never more than its parallelism, and counts each once', async () => {
    await jobs.create({ metadata: at('sum'), spec: spec({ completions: 7, parallelism: 3 }) });
    let most = 0;
    await expect
      .poll(async () => {
        most = Math.max(most, await end('sum'));
        return (await statusOf('sum')).succeeded;
      }, patience)
      .toBe(7);
    await expect
      .poll(() => reasons('sum'), patience)
      .toEqual(['SuccessCriteriaMet CompletionsReached', 'Complete CompletionsReached']);
    expect(most).toBeLessThanOrEqual(3);
    expect(await podsOf('sum')).toHaveLength(7);
    expect(await tracked('sum')).toEqual([]);
    expect((await statusOf('sum')).completionTime).toBeDefined();
  }, 40_000);

  it('with indexes gives each pod its own, and goes on after the controllers were stopped', async () => {
    await jobs.create({ metadata: at('parts'), spec: spec({ completions: 4, parallelism: 2, completionMode: 'Indexed' }) });
    await expect.poll(async () => (await podsOf('parts')).length, patience).toBe(2);
    const [pod] = await podsOf('parts');
    expect(pod?.metadata?.name).toMatch(/^parts-[01]-[a-z0-9]{5}$/);
    expect(pod?.spec?.hostname).toBe(pod?.metadata?.name?.slice(0, 7));
    await stopControllers();
    await end('parts');
    stopControllers = await startControllers(server);
    await expect
      .poll(async () => {
        await end('parts');
        return (await statusOf('parts')).completedIndexes;
      }, patience)
      .toBe('0-3');
    await expect.poll(() => reasons('parts'), patience).toContain('Complete CompletionsReached');
    expect(await podsOf('parts')).toHaveLength(4);
  }, 40_000);

  it('fails with its back-off limit, deletes what runs and counts that as failed', async () => {
    await jobs.create({ metadata: at('bad'), spec: spec({ completions: 9, parallelism: 2, backoffLimit: 0 }) });
    await expect.poll(async () => (await podsOf('bad')).length, patience).toBe(2);
    const [first] = await podsOf('bad');
    await end('bad', (pod) => (pod.metadata?.uid === first?.metadata?.uid ? 'Failed' : 'Pending'));
    await expect
      .poll(() => reasons('bad'), patience)
      .toEqual(['FailureTarget BackoffLimitExceeded', 'Failed BackoffLimitExceeded']);
    expect(await statusOf('bad')).toMatchObject({ failed: 2, active: 0, terminating: 0 });
    expect(await tracked('bad')).toEqual([]);
    const { items } = await server.client.events.list({ namespace: 'default', limit: 500 });
    const told = items.filter(({ involvedObject }) => involvedObject?.name === 'bad').map(({ reason }) => reason);
    expect(new Set(told)).toEqual(new Set(['SuccessfulCreate', 'SuccessfulDelete', 'BackoffLimitExceeded']));
  }, 40_000);

  it('is suspended and goes on, and leaves no pod behind when it is deleted', async () => {
    await jobs.create({ metadata: at('rest'), spec: spec({ parallelism: 2, completions: 2 }) });
    await expect.poll(async () => (await podsOf('rest')).length, patience).toBe(2);
    await jobs.patch(at('rest'), { spec: { suspend: true } });
    await expect.poll(() => reasons('rest'), patience).toEqual(['Suspended JobSuspended']);
    await expect.poll(async () => (await podsOf('rest')).length, patience).toBe(0);
    expect(await statusOf('rest')).not.toHaveProperty('startTime');
    await jobs.patch(at('rest'), { spec: { suspend: false } });
    await expect.poll(async () => (await podsOf('rest')).length, patience).toBe(2);
    await expect.poll(() => statusOf('rest'), patience).toMatchObject({ failed: 0, startTime: {} });
    await jobs.delete(at('rest'));
    await expect.poll(async () => (await podsOf('rest')).length, patience).toBe(0);
  }, 40_000);

  it('lets its pods go when it is deleted alone', async () => {
    await jobs.create({ metadata: at('alone'), spec: spec({ parallelism: 2, completions: 2 }) });
    await expect.poll(async () => (await podsOf('alone')).length, patience).toBe(2);
    await jobs.delete(at('alone'), { propagationPolicy: 'Orphan' });
    await expect.poll(async () => (await tracked('alone')).length, patience).toBe(0);
    expect(await podsOf('alone')).toHaveLength(2);
  }, 40_000);

  it('that another controller manages is left alone', async () => {
    await jobs.create({ metadata: at('other'), spec: spec({ managedBy: 'example.com/queue' }) });
    await jobs.create({ metadata: at('own'), spec: spec() });
    await expect.poll(async () => (await podsOf('own')).length, patience).toBe(1);
    expect([await podsOf('other'), await statusOf('other')]).toEqual([[], {}]);
  }, 40_000);

  it('goes with its pods when its time after its end is over', async () => {
    await jobs.create({ metadata: at('brief'), spec: spec({ ttlSecondsAfterFinished: 1 }) });
    await expect.poll(() => end('brief'), patience).toBe(1);
    await expect
      .poll(
        () =>
          jobs.get(at('brief')).then(
            () => 'there',
            ({ code }) => code,
          ),
        patience,
      )
      .toBe('NOT_FOUND');
    await expect.poll(async () => (await podsOf('brief')).length, patience).toBe(0);
  }, 40_000);

  it('writes few times for each pod', async () => {
    const before = Number((await jobs.list({ limit: 1 })).metadata?.resourceVersion);
    await jobs.create({ metadata: at('many'), spec: spec({ completions: 100, parallelism: 50 }) });
    await expect
      .poll(
        async () => {
          await end('many');
          return (await statusOf('many')).succeeded;
        },
        { ...patience, interval: 300 },
      )
      .toBe(100);
    await expect.poll(() => reasons('many'), patience).toContain('Complete CompletionsReached');
    const after = Number((await jobs.list({ limit: 1 })).metadata?.resourceVersion);
    // Create, the end as the agent says it, finalizer; the rest are the Job's status and events.
    expect((after - before) / 100).toBeLessThan(5);
  }, 40_000);
});

describe('a CronJob', () => {
  it('starts Jobs, keeps its history and its status', async () => {
    const jobTemplate = { metadata: { labels: { of: 'tick' } }, spec: spec() };
    const history = { successfulJobsHistoryLimit: 1, failedJobsHistoryLimit: 1 };
    await cronJobs.create({
      metadata: at('tick'),
      spec: { schedule: '@every 1s', concurrencyPolicy: 'Forbid', jobTemplate, ...history },
    });
    const made = async () => (await jobs.list({ namespace: 'default', labelSelector: 'of=tick', limit: 10 })).items;
    await expect.poll(async () => (await made()).length, patience).toBeGreaterThan(0);
    const [job] = await made();
    const { metadata } = job!;
    expect(metadata?.name).toMatch(/^tick-\d{8}$/);
    expect(metadata?.annotations?.['batch.kubernetes.io/cronjob-scheduled-timestamp']).toMatch(/Z$/);
    await expect
      .poll(async () => (await cronJobs.get(at('tick'))).status, patience)
      .toMatchObject({ active: [{ kind: 'Job', name: metadata?.name, uid: metadata?.uid }] });
    await expect.poll(() => end(metadata?.name ?? ''), patience).toBe(1);
    await expect.poll(async () => (await cronJobs.get(at('tick'))).status, patience).toMatchObject({ lastSuccessfulTime: {} });
    await cronJobs.delete(at('tick'));
    await expect.poll(async () => (await made()).length, patience).toBe(0);
  }, 40_000);
});
