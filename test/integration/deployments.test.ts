import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Deployment, Pod } from '../../api/generated/types.ts';
import { workloadAnnotations, workloadLabels } from '../../api/meta/workload-names.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { startControllers } from './controllers-harness.ts';

let server: RunningServer;
let stopControllers: () => Promise<void>;
beforeEach(async () => {
  server = await startServer({ backend: 'memory' });
  stopControllers = await startControllers(server);
});
afterEach(async () => {
  await stopControllers();
  await server.stop();
  await server.remove();
});

const at = (name: string) => ({ namespace: 'default', name });

function deployment(name: string, replicas: number, image: string, spec: Deployment['spec'] = {}): Deployment {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image }] } };
  return { metadata: at(name), spec: { replicas, selector: { matchLabels: labels }, template, ...spec } };
}

async function podsOf(name: string): Promise<Pod[]> {
  const { items } = await server.client.pods.list({ namespace: 'default', labelSelector: `app=${name}`, limit: 500 });
  return items.filter(({ metadata }) => !metadata?.deletionTimestamp);
}

/** Says of all pods that are not ready that they are, as an agent would. */
async function makeReady(name: string): Promise<void> {
  for (const { metadata, status } of await podsOf(name)) {
    if (status?.phase === 'Running') continue;
    const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: new Date().toISOString() }];
    const patch = { status: { phase: 'Running', conditions } };
    await server.client.pods.patch({ ...at(metadata?.name ?? ''), subresource: 'status', type: 'strategic' }, patch);
  }
}

const statusOf = async (name: string) => (await server.client.deployments.get(at(name))).status ?? {};

describe('a Deployment', () => {
  it('makes pods, rolls a change out within its bounds, and is complete in the end', async () => {
    const { deployments, replicaSets } = server.client;
    await deployments.create(deployment('web', 3, 'i:1'));
    await expect.poll(async () => (await podsOf('web')).length, { timeout: 10_000 }).toBe(3);
    await makeReady('web');
    await expect.poll(() => statusOf('web'), { timeout: 10_000 }).toMatchObject({ availableReplicas: 3, updatedReplicas: 3 });
    const first = await deployments.get(at('web'));
    expect(first.metadata?.annotations?.[workloadAnnotations.revision]).toBe('1');
    const [pod] = await podsOf('web');
    expect(pod?.metadata?.labels?.[workloadLabels.podTemplateHash]).toMatch(/^[a-z0-9]{5,10}$/);

    await deployments.patch(at('web'), { spec: { template: { spec: { containers: [{ name: 'c', image: 'i:2' }] } } } });
    const seen: number[] = [];
    await expect
      .poll(
        async () => {
          const pods = await podsOf('web');
          seen.push(pods.length);
          await makeReady('web');
          return pods.every(({ spec }) => spec?.containers?.[0]?.image === 'i:2') && pods.length === 3;
        },
        { timeout: 20_000 },
      )
      .toBe(true);
    expect(Math.max(...seen)).toBeLessThanOrEqual(4);
    await expect
      .poll(async () => (await statusOf('web')).conditions?.find(({ type }) => type === 'Progressing')?.reason, {
        timeout: 10_000,
      })
      .toBe('NewReplicaSetAvailable');
    const { items } = await replicaSets.list({ namespace: 'default' });
    expect(items.map(({ spec }) => spec?.replicas).toSorted()).toEqual([0, 3]);
  }, 60_000);

  it('is rolled back by itself once, with one event', async () => {
    const { deployments, events } = server.client;
    const asked = deployment('careful', 1, 'i:1', { progressDeadlineSeconds: 1 });
    asked.metadata = { ...asked.metadata, annotations: { [workloadAnnotations.rollbackOnDeadline]: 'true' } };
    await deployments.create(asked);
    await expect.poll(async () => (await podsOf('careful')).length, { timeout: 10_000 }).toBe(1);
    await makeReady('careful');
    await expect.poll(() => statusOf('careful'), { timeout: 10_000 }).toMatchObject({ availableReplicas: 1 });
    await deployments.patch(at('careful'), { spec: { template: { spec: { containers: [{ name: 'c', image: 'i:2' }] } } } });
    const image = async () => (await deployments.get(at('careful'))).spec?.template?.spec?.containers?.[0]?.image;
    await expect.poll(image, { timeout: 20_000 }).toBe('i:1');
    const told = async () => {
      const { items } = await events.list({ namespace: 'default' });
      return items.filter(({ reason }) => reason === 'DeploymentRollback').map(({ count }) => count ?? 1);
    };
    await expect.poll(told, { timeout: 10_000 }).toEqual([1]);
  }, 60_000);

  it('deletes its ReplicaSets and pods with it', async () => {
    const { deployments, replicaSets } = server.client;
    await deployments.create(deployment('gone', 2, 'i:1'));
    await expect.poll(async () => (await podsOf('gone')).length, { timeout: 10_000 }).toBe(2);
    await deployments.delete(at('gone'));
    await expect.poll(async () => (await podsOf('gone')).length, { timeout: 10_000 }).toBe(0);
    expect((await replicaSets.list({ namespace: 'default' })).items).toEqual([]);
  }, 30_000);
});

describe('a ReplicaSet', () => {
  it('adopts a pod that runs, and leaves one alone that has ended', async () => {
    const { pods, replicaSets } = server.client;
    const labels = { app: 'orphans' };
    const spec = { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i:1' }] };
    for (const name of ['ended', 'running']) await pods.create({ metadata: { ...at(name), labels }, spec });
    await pods.patch({ ...at('ended'), subresource: 'status', type: 'strategic' }, { status: { phase: 'Succeeded' } });
    const template = { metadata: { labels }, spec: { containers: spec.containers } };
    await replicaSets.create({ metadata: at('keeper'), spec: { replicas: 1, selector: { matchLabels: labels }, template } });
    const ownerOf = async (name: string) => (await pods.get(at(name))).metadata?.ownerReferences?.[0]?.name;
    await expect.poll(() => ownerOf('running'), { timeout: 10_000 }).toBe('keeper');
    const status = async () => (await replicaSets.get(at('keeper'))).status;
    await expect.poll(status, { timeout: 10_000 }).toMatchObject({ replicas: 1, observedGeneration: 1 });
    expect(await ownerOf('ended')).toBeUndefined();
  }, 30_000);
});
