import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Job, JobSpec } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { ResourceClient } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

let server: RunningServer;
let jobs: ResourceClient<Job>;
beforeAll(async () => {
  server = await startServer();
  jobs = server.client.resource(kindNamed('Job'));
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

const at = (name: string) => ({ namespace: 'default', name });
const spec = (labels?: Record<string, string>): JobSpec => ({
  template: {
    ...(labels && { metadata: { labels } }),
    spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'x' }] },
  },
});
const fieldsOf = (call: Promise<unknown>): Promise<string[]> =>
  call.then(
    () => [],
    ({ violations }) => violations.map(({ field }: { field: string }) => field),
  );

test('labels the pods of a job with its uid and the name that the server drew', async () => {
  const { metadata, spec: stored } = await jobs.create({
    metadata: { ...at(''), generateName: 'pi-' },
    spec: spec({ app: 'pi' }),
  });
  const [uid, name] = [metadata?.uid, metadata?.name];
  const labels = {
    app: 'pi',
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': name,
    'controller-uid': uid,
    'job-name': name,
  };
  expect(name).toMatch(/^pi-.{5}$/);
  expect(stored?.template?.metadata?.labels).toEqual(labels);
  expect(metadata?.labels).toEqual(labels);
  expect(stored?.selector).toEqual({ matchLabels: { 'batch.kubernetes.io/controller-uid': uid } });
});

test('refuses labels of the pods of another job', async () => {
  const field = 'spec.template.metadata.labels[job-name]';
  expect(await fieldsOf(jobs.create({ metadata: at('thief'), spec: spec({ 'job-name': 'other' }) }))).toEqual([field]);
});

test('accepts a job again as the server answered it, and refuses it with another template', async () => {
  const made = await jobs.create({ metadata: at('same'), spec: spec() });
  expect(await jobs.update(made)).toEqual(made);
  expect((await jobs.patch(at('same'), { spec: { parallelism: 3 } })).spec?.parallelism).toBe(3);
  const patch = { spec: { template: { spec: { containers: [{ name: 'main', image: 'y' }] } } } };
  expect(await fieldsOf(jobs.patch(at('same'), patch))).toEqual(['spec.template.spec.containers[0].image']);
});

test('keeps a job that has ended as it ended, and finds it by how many pods succeeded', async () => {
  const made = await jobs.create({ metadata: at('done'), spec: spec() });
  const conditions = ['SuccessCriteriaMet', 'Complete'].map((type) => ({ type, status: 'True' }));
  const status = { startTime: { seconds: 1 }, completionTime: { seconds: 2 }, succeeded: 1, conditions };
  const done = await jobs.updateStatus({ ...made, status });
  expect(await fieldsOf(jobs.updateStatus({ ...done, status: { ...done.status, conditions: [] } }))).toContain(
    'status.conditions',
  );
  const page = await jobs.list({ namespace: 'default', fieldSelector: 'status.successful=1' });
  expect(page.items.map(({ metadata }) => metadata?.name)).toEqual(['done']);
});
