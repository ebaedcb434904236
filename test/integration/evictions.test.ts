import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { isExhausted } from '../../api/errors/index.ts';
import type { Pod, PodDisruptionBudget } from '../../api/generated/types.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { startControllers } from './controllers-harness.ts';

let server: RunningServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

const at = (name: string) => ({ namespace: 'default', name });

/** A pod that runs, ready unless told otherwise. */
async function runningPod(name: string, app: string, ready = true): Promise<Pod> {
  const { pods } = server.client;
  const made = await pods.create({
    metadata: { ...at(name), labels: { app } },
    spec: { nodeName: 'n1', containers: [{ name: 'main', image: 'x' }] },
  });
  const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False' }];
  return pods.updateStatus({ ...made, status: { ...made.status, phase: 'Running', conditions } });
}

/** A budget as the controller would have computed it. */
async function budget(app: string, status: PodDisruptionBudget['status'], spec: PodDisruptionBudget['spec'] = {}) {
  const { podDisruptionBudgets } = server.client;
  const made = await podDisruptionBudgets.create({
    metadata: at(app),
    spec: { minAvailable: { type: 0, intVal: 1 }, selector: { matchLabels: { app } }, ...spec },
  });
  return podDisruptionBudgets.updateStatus({ ...made, status: { observedGeneration: made.metadata!.generation!, ...status } });
}

test('a pod without a budget is evicted: it gets the condition and its own time to end', async () => {
  await runningPod('free', 'free');
  const evicted = await server.client.pods.evict(at('free'));
  expect(evicted.metadata).toMatchObject({ deletionGracePeriodSeconds: 30 });
  expect(evicted.status?.conditions).toContainEqual(
    expect.objectContaining({ type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' }),
  );
  const gone = await server.client.pods.evict(at('free'), { gracePeriodSeconds: 0 });
  expect(gone.status?.conditions).toContainEqual(expect.objectContaining({ type: 'DisruptionTarget' }));
  await expect(server.client.pods.get(at('free'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('of many evictions at once a budget lets in as many as it allows, and says so to the others', async () => {
  const names = Array.from({ length: 12 }, (_, i) => `crowd-${i}`);
  await Promise.all(names.map((name) => runningPod(name, 'crowd')));
  await budget('crowd', { disruptionsAllowed: 5, currentHealthy: 12, desiredHealthy: 7, expectedPods: 12 });
  const answers = await Promise.allSettled(names.map((name) => server.client.pods.evict(at(name))));
  const refused = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));
  expect(refused).toHaveLength(7);
  expect(refused.every(isExhausted)).toBe(true);
  expect(refused[0]).toMatchObject({
    reason: 'DisruptionBudget',
    retryAfterMs: 10_000,
    subject: { kind: 'PodDisruptionBudget', namespace: 'default', name: 'crowd' },
    message: expect.stringContaining('the disruption budget crowd needs 7 healthy pods and has 12 currently'),
  });
  const { status } = await server.client.podDisruptionBudgets.get(at('crowd'));
  expect(status?.disruptionsAllowed).toBe(0);
  expect(Object.keys(status?.disruptedPods ?? {})).toHaveLength(5);
  expect(status?.conditions).toMatchObject([{ type: 'DisruptionAllowed', status: 'False', reason: 'InsufficientPods' }]);
  const left = (await server.client.pods.list({ namespace: 'default', labelSelector: 'app=crowd' })).items ?? [];
  expect(left.filter(({ metadata }) => metadata?.deletionTimestamp)).toHaveLength(5);
});

test('where the wanted number of pods is not known, the refusal says so', async () => {
  await runningPod('lone', 'lone');
  const spec = { selector: { matchLabels: { app: 'lone' } }, minAvailable: { type: 1, strVal: '50%' } };
  await budget('lone', { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 0, expectedPods: 0 }, spec);
  await expect(server.client.pods.evict(at('lone'))).rejects.toMatchObject({
    message: expect.stringContaining('lone cannot tell how many pods there should be, for none has a controller'),
  });
});

test('a dry run is judged in the same way, and neither takes from the budget nor deletes', async () => {
  await runningPod('dry', 'dry');
  await budget('dry', { disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2 });
  for (const _ of [1, 2]) await server.client.pods.evict(at('dry'), { dryRun: ['All'] });
  expect((await server.client.podDisruptionBudgets.get(at('dry'))).status?.disruptionsAllowed).toBe(1);
  expect((await server.client.pods.get(at('dry'))).metadata?.deletionTimestamp).toBeUndefined();
  await server.client.pods.evict(at('dry'));
  await runningPod('dry-2', 'dry');
  await expect(server.client.pods.evict(at('dry-2'), { dryRun: ['All'] })).rejects.toMatchObject({ reason: 'DisruptionBudget' });
});

test('preconditions hold before anything is taken from the budget', async () => {
  const pod = await runningPod('exact', 'exact');
  await budget('exact', { disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2 });
  const { evict } = server.client.pods;
  await expect(evict({ ...at('exact'), uid: 'other' })).rejects.toMatchObject({ code: 'ABORTED' });
  await expect(evict(at('exact'), { preconditions: { resourceVersion: '1' } })).rejects.toMatchObject({ code: 'ABORTED' });
  await expect(evict(at('nobody'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect((await server.client.podDisruptionBudgets.get(at('exact'))).status?.disruptionsAllowed).toBe(1);
  await evict(
    { ...at('exact'), uid: pod.metadata!.uid! },
    { preconditions: { resourceVersion: pod.metadata!.resourceVersion! } },
  );
});

test('what has not begun or has ended needs no leave; what is not ready needs a healthy budget, or one that lets it go', async () => {
  const none = { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 2, expectedPods: 3 };
  await budget('sick', none);
  await server.client.pods.create({
    metadata: { ...at('waiting'), labels: { app: 'sick' } },
    spec: { containers: [{ name: 'main', image: 'x' }] },
  });
  await server.client.pods.evict(at('waiting'));
  await runningPod('sick-1', 'sick', false);
  await expect(server.client.pods.evict(at('sick-1'))).rejects.toMatchObject({ reason: 'DisruptionBudget' });
  await runningPod('sound-1', 'sound', false);
  await budget('sound', { ...none, currentHealthy: 2 });
  await server.client.pods.evict(at('sound-1'));
  await runningPod('let-go-1', 'let-go', false);
  await budget('let-go', none, { unhealthyPodEvictionPolicy: 'AlwaysAllow' });
  await server.client.pods.evict(at('let-go-1'));
});

test('a budget without a computed status allows nothing, and two of them for one pod are an error', async () => {
  await runningPod('new', 'new');
  const selector = { matchLabels: { app: 'new' } };
  await server.client.podDisruptionBudgets.create({ metadata: at('new'), spec: { selector } });
  await expect(server.client.pods.evict(at('new'))).rejects.toThrow('has not been computed yet');
  await server.client.podDisruptionBudgets.create({ metadata: at('new-too'), spec: { selector } });
  await expect(server.client.pods.evict(at('new'))).rejects.toThrow('more than one PodDisruptionBudget');
});

test('the controller computes what a budget allows, again after each eviction, so that it is never broken', async () => {
  const stop = await startControllers(server);
  try {
    const { pods, podDisruptionBudgets } = server.client;
    for (const name of ['kept-0', 'kept-1', 'kept-2']) await runningPod(name, 'kept');
    const selector = { matchLabels: { app: 'kept' } };
    await podDisruptionBudgets.create({ metadata: at('kept'), spec: { minAvailable: { type: 0, intVal: 2 }, selector } });
    const statusOf = async () => (await podDisruptionBudgets.get(at('kept'))).status;
    const allowed = (disruptionsAllowed: number, currentHealthy: number) =>
      vi.waitFor(async () => expect(await statusOf()).toMatchObject({ disruptionsAllowed, currentHealthy, desiredHealthy: 2 }), {
        timeout: 20_000,
      });
    await allowed(1, 3);
    await pods.evict(at('kept-0'));
    await expect(pods.evict(at('kept-1'))).rejects.toMatchObject({ reason: 'DisruptionBudget' });
    // Seen to go: no longer noted as under way.
    await vi.waitFor(async () => expect((await statusOf())?.disruptedPods ?? {}).toEqual({}), { timeout: 20_000 });
    await allowed(0, 2);
    await runningPod('kept-3', 'kept');
    await allowed(1, 3);
    await pods.evict(at('kept-1'));
  } finally {
    await stop();
  }
});
