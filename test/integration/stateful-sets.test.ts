import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Pod, StatefulSet } from '../../api/generated/types.ts';
import { workloadLabels } from '../../api/meta/workload-names.ts';
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
const patient = { timeout: 10_000, interval: 20 };
const containers = (image: string) => [{ name: 'c', image }];

function setOf(name: string, spec: StatefulSet['spec'] = {}): StatefulSet {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: containers('i:1') } };
  return {
    metadata: at(name),
    spec: { replicas: 3, serviceName: 'peers', selector: { matchLabels: labels }, template, ...spec },
  };
}

const statusOf = async (name: string) => (await server.client.statefulSets.get(at(name))).status ?? {};
const setImage = (name: string, image: string) =>
  server.client.statefulSets.patch(at(name), { spec: { template: { spec: { containers: containers(image) } } } });

async function podsOf(name: string): Promise<Pod[]> {
  const { items } = await server.client.pods.list({ namespace: 'default', labelSelector: `app=${name}`, limit: 500 });
  return items.filter(({ metadata }) => !metadata?.deletionTimestamp);
}

/** What an agent would do: every pod becomes ready but those of the image "bad". Gives name=image of all. */
async function play(name: string): Promise<string[]> {
  const pods = await podsOf(name);
  for (const { metadata, spec, status } of pods) {
    if (status?.phase === 'Running') continue;
    const isReady = spec?.containers?.[0]?.image !== 'bad';
    const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False', lastTransitionTime: new Date().toISOString() }];
    const patch = { status: { phase: 'Running', conditions } };
    await server.client.pods
      .patch({ ...at(metadata?.name ?? ''), subresource: 'status', type: 'strategic' }, patch)
      .catch(() => {});
  }
  return pods.map(({ metadata, spec }) => `${metadata?.name}=${spec?.containers?.[0]?.image}`).toSorted();
}

describe('a StatefulSet', () => {
  it('makes pods one after the other, each with its name, its labels and its claim', async () => {
    const claim = {
      metadata: { name: 'data' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: { string: '1Gi' } } } },
    };
    await server.client.statefulSets.create(setOf('db', { volumeClaimTemplates: [claim] }));
    await expect.poll(() => podsOf('db'), patient).toHaveLength(1);
    await expect.poll(() => play('db'), patient).toEqual(['db-0=i:1', 'db-1=i:1', 'db-2=i:1']);
    await expect
      .poll(() => statusOf('db'), patient)
      .toMatchObject({ readyReplicas: 3, availableReplicas: 3, updatedReplicas: 3 });
    const { currentRevision, updateRevision } = await statusOf('db');
    expect(currentRevision).toBe(updateRevision);
    const pod = await server.client.pods.get(at('db-1'));
    expect(pod.spec).toMatchObject({ hostname: 'db-1', subdomain: 'peers' });
    expect(pod.metadata?.labels).toEqual({
      app: 'db',
      [workloadLabels.statefulSetPodName]: 'db-1',
      [workloadLabels.podIndex]: '1',
      [workloadLabels.controllerRevisionHash]: currentRevision,
    });
    expect(pod.spec?.volumes?.[0]).toMatchObject({
      name: 'data',
      volumeSource: { persistentVolumeClaim: { claimName: 'data-db-1' } },
    });
    const claims = await server.client.persistentVolumeClaims.list({ namespace: 'default' });
    expect(claims.items.map(({ metadata }) => [metadata?.name, metadata?.labels])).toEqual(
      [0, 1, 2].map((ordinal) => [`data-db-${ordinal}`, { app: 'db' }]),
    );
  }, 30_000);

  it('takes a broken update back without a deletion by hand, and by the data of a revision', async () => {
    await server.client.statefulSets.create(setOf('web'));
    await expect.poll(() => play('web'), patient).toEqual(['web-0=i:1', 'web-1=i:1', 'web-2=i:1']);
    const { currentRevision = '' } = await statusOf('web');
    await setImage('web', 'bad');
    await expect.poll(() => play('web'), patient).toEqual(['web-0=i:1', 'web-1=i:1', 'web-2=bad']);
    const first = await server.client.controllerRevisions.get(at(currentRevision));
    const undo = JSON.parse(Buffer.from(first.data?.raw ?? []).toString());
    await server.client.statefulSets.patch({ ...at('web'), type: 'strategic' }, undo);
    await expect.poll(() => play('web'), patient).toEqual(['web-0=i:1', 'web-1=i:1', 'web-2=i:1']);
    await expect.poll(() => statusOf('web'), patient).toMatchObject({ readyReplicas: 3, updateRevision: currentRevision });
    const { items } = await server.client.controllerRevisions.list({ namespace: 'default' });
    expect(items.map(({ revision }) => revision).toSorted()).toEqual([2, 3]);
  }, 30_000);

  it('replaces a pod that failed, and tells of pods as Kubernetes does', async () => {
    await server.client.statefulSets.create(setOf('web', { replicas: 1 }));
    await expect.poll(() => play('web'), patient).toEqual(['web-0=i:1']);
    await expect.poll(() => statusOf('web'), patient).toMatchObject({ availableReplicas: 1, currentReplicas: 1 });
    await server.client.pods.patch({ ...at('web-0'), subresource: 'status' }, { status: { phase: 'Failed' } });
    const told = async () => {
      const { items } = await server.client.events.list({ namespace: 'default' });
      return items
        .filter(({ involvedObject }) => involvedObject?.kind === 'StatefulSet')
        .map(({ type, reason, message, count }) => `${type} ${reason}: ${message} (${count})`)
        .toSorted();
    };
    await expect
      .poll(told, patient)
      .toEqual([
        'Normal SuccessfulCreate: create Pod web-0 in StatefulSet web successful (2)',
        'Normal SuccessfulDelete: delete Pod web-0 in StatefulSet web successful (1)',
        'Warning RecreatingFailedPod: StatefulSet default/web is recreating failed Pod web-0 (1)',
      ]);
  }, 30_000);

  it('corrects a first template that never worked', async () => {
    const spec = setOf('new').spec!;
    await server.client.statefulSets.create(
      setOf('new', { template: { ...spec.template, spec: { containers: containers('bad') } } }),
    );
    await expect.poll(() => play('new'), patient).toEqual(['new-0=bad']);
    await setImage('new', 'i:2');
    await expect.poll(() => play('new'), patient).toEqual(['new-0=i:2', 'new-1=i:2', 'new-2=i:2']);
  }, 30_000);

  it('waits for a name that another pod has, says so, and takes it when that is gone', async () => {
    const foreign = { metadata: { ...at('dup-1'), labels: { other: 'x' } }, spec: { containers: containers('x') } };
    await server.client.pods.create(foreign);
    await server.client.statefulSets.create(setOf('dup', { podManagementPolicy: 'Parallel' }));
    await expect.poll(() => play('dup'), patient).toEqual(['dup-0=i:1', 'dup-2=i:1']);
    const messages = async () =>
      (await server.client.events.list({ namespace: 'default' })).items.map(({ message }) => message ?? '');
    await expect
      .poll(messages, patient)
      .toContainEqual(expect.stringMatching(/^create Pod dup-1 in StatefulSet dup failed error: .*already exists/));
    expect(await messages()).toContain('create Pod dup-0 in StatefulSet dup successful');
    await server.client.pods.delete(at('dup-1'), { gracePeriodSeconds: 0 });
    await expect.poll(() => play('dup'), patient).toEqual(['dup-0=i:1', 'dup-1=i:1', 'dup-2=i:1']);
  }, 30_000);

  it('takes the claims of pods that are too many away where the policy says so', async () => {
    const claim = {
      metadata: { name: 'data' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: { string: '1Gi' } } } },
    };
    const persistentVolumeClaimRetentionPolicy = { whenScaled: 'Delete', whenDeleted: 'Retain' };
    const { statefulSets, persistentVolumeClaims } = server.client;
    await statefulSets.create(setOf('kv', { volumeClaimTemplates: [claim], persistentVolumeClaimRetentionPolicy }));
    await expect.poll(() => play('kv'), patient).toHaveLength(3);
    await expect.poll(() => statusOf('kv'), patient).toMatchObject({ readyReplicas: 3 });
    await statefulSets.patch(at('kv'), { spec: { replicas: 1 } });
    const claims = async () =>
      (await persistentVolumeClaims.list({ namespace: 'default' })).items.map(({ metadata }) => metadata?.name);
    await expect.poll(claims, patient).toEqual(['data-kv-0']);
    await statefulSets.delete(at('kv'));
    await expect.poll(() => podsOf('kv'), patient).toEqual([]);
    expect(await claims()).toEqual(['data-kv-0']);
  }, 30_000);
});
