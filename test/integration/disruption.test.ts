import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Pod, PodDisruptionBudget, PodDisruptionBudgetSpec } from '../../api/generated/types.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { startControllers } from './controllers-harness.ts';

let server: RunningServer;
let stopControllers: () => Promise<void>;
beforeAll(async () => {
  server = await startServer({ backend: 'memory' });
  stopControllers = await startControllers(server);
});
afterAll(async () => {
  await stopControllers();
  await server.stop();
  await server.remove();
});

const at = (name: string) => ({ namespace: 'default', name });

async function podsOf(app: string): Promise<Pod[]> {
  return (await server.client.pods.list({ namespace: 'default', labelSelector: `app=${app}`, limit: 500 })).items;
}

async function makeReady(app: string): Promise<void> {
  for (const pod of await podsOf(app)) {
    const conditions = [{ type: 'Ready', status: 'True' }];
    await server.client.pods.updateStatus({ ...pod, status: { ...pod.status, phase: 'Running', conditions } });
  }
}

const budget = (app: string, spec: PodDisruptionBudgetSpec) =>
  server.client.podDisruptionBudgets.create({
    metadata: at(app),
    spec: { selector: { matchLabels: { app } }, ...spec },
  });
const statusOf = async (app: string): Promise<PodDisruptionBudget['status']> =>
  (await server.client.podDisruptionBudgets.get(at(app))).status;
const one = { type: 0, intVal: 1 };
const soon = { timeout: 10_000 };

test('a budget of a Deployment counts the pods that it wants, also those that are still to come', async () => {
  const labels = { app: 'web' };
  const { deployments } = server.client;
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  await deployments.create({ metadata: at('web'), spec: { replicas: 4, selector: { matchLabels: labels }, template } });
  await expect.poll(async () => (await podsOf('web')).length, soon).toBe(4);
  await makeReady('web');
  await budget('web', { maxUnavailable: one });
  await expect
    .poll(() => statusOf('web'), soon)
    .toMatchObject({
      expectedPods: 4,
      desiredHealthy: 3,
      currentHealthy: 4,
      disruptionsAllowed: 1,
    });
  await deployments.patchScale(at('web'), { spec: { replicas: 6 } });
  await expect
    .poll(() => statusOf('web'), soon)
    .toMatchObject({
      expectedPods: 6,
      desiredHealthy: 5,
      currentHealthy: 4,
      conditions: [{ type: 'DisruptionAllowed', status: 'False', reason: 'InsufficientPods' }],
    });
}, 30_000);

test('a budget by parts allows nothing, and says why, where the controller of a pod is of no known kind', async () => {
  const reference = { apiVersion: 'example.com/v1', kind: 'Crowd', name: 'c', uid: 'uid-c', controller: true };
  await server.client.pods.create({
    metadata: { ...at('other'), labels: { app: 'other' }, ownerReferences: [reference] },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  });
  await makeReady('other');
  await budget('other', { minAvailable: { type: 1, strVal: '50%' } });
  await expect
    .poll(() => statusOf('other'), soon)
    .toMatchObject({
      conditions: [
        {
          type: 'DisruptionAllowed',
          status: 'False',
          reason: 'SyncFailed',
          message: 'no matches for kind "Crowd" in version "example.com/v1"',
        },
      ],
    });
  await expect
    .poll(async () => (await server.client.events.list({ namespace: 'default' })).items.map(({ reason }) => reason), soon)
    .toContain('CalculateExpectedPodCountFailed');
}, 30_000);
