import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DaemonSet, Pod } from '../../api/generated/types.ts';
import { workloadLabels } from '../../api/meta/workload-names.ts';
import { count } from '../builders/deployment.ts';
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

function setOf(name: string, spec: DaemonSet['spec'] = {}): DaemonSet {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: containers('i:1') } };
  return { metadata: at(name), spec: { selector: { matchLabels: labels }, template, ...spec } };
}

const makeNode = (name: string, labels: Record<string, string> = {}) =>
  server.client.nodes.create({ metadata: { name, labels }, status: { conditions: [{ type: 'Ready', status: 'True' }] } });

const statusOf = async (name: string) => (await server.client.daemonSets.get(at(name))).status ?? {};
const setImage = (name: string, image: string) =>
  server.client.daemonSets.patch(at(name), { spec: { template: { spec: { containers: containers(image) } } } });

const nodeOf = ({ spec }: Pod): string =>
  spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms?.[0]?.matchFields?.[0]
    ?.values?.[0] ?? '';

async function podsOf(name: string): Promise<Pod[]> {
  const { items } = await server.client.pods.list({ namespace: 'default', labelSelector: `app=${name}`, limit: 500 });
  return items.filter(({ metadata }) => !metadata?.deletionTimestamp);
}

/** What scheduler and agents would do: binds every pod to the node that it names, makes it ready. Gives node=image. */
async function play(name: string): Promise<string[]> {
  const pods = await podsOf(name);
  for (const pod of pods) {
    const key = at(pod.metadata?.name ?? '');
    if (pod.status?.phase === 'Running') continue;
    if (!pod.spec?.nodeName) await server.client.pods.bind(key, nodeOf(pod)).catch(() => {});
    const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: new Date().toISOString() }];
    const patch = { status: { phase: 'Running', conditions } };
    await server.client.pods.patch({ ...key, subresource: 'status', type: 'strategic' }, patch).catch(() => {});
  }
  // No agent ends what is deleted.
  const { items } = await server.client.pods.list({ namespace: 'default', labelSelector: `app=${name}`, limit: 500 });
  for (const { metadata } of items)
    if (metadata?.deletionTimestamp)
      await server.client.pods.delete(at(metadata.name ?? ''), { gracePeriodSeconds: 0 }).catch(() => {});
  return pods.map((pod) => `${nodeOf(pod)}=${pod.spec?.containers?.[0]?.image}`).toSorted();
}

describe('a DaemonSet', () => {
  it('has a pod on every node that it selects, follows nodes, and rolls a change out and back', async () => {
    const { client } = server;
    await Promise.all(['n1', 'n2'].map((name) => makeNode(name)));
    await client.daemonSets.create(setOf('log'));
    await expect.poll(() => play('log'), patient).toEqual(['n1=i:1', 'n2=i:1']);
    await makeNode('n3');
    await expect.poll(() => play('log'), patient).toEqual(['n1=i:1', 'n2=i:1', 'n3=i:1']);
    await expect
      .poll(() => statusOf('log'), patient)
      .toMatchObject({ desiredNumberScheduled: 3, numberAvailable: 3, updatedNumberScheduled: 3 });
    const [pod] = await podsOf('log');
    expect(pod?.metadata?.labels).toMatchObject({ [workloadLabels.templateGeneration]: '1' });
    const hash = pod?.metadata?.labels?.[workloadLabels.controllerRevisionHash] ?? '';
    const first = await client.controllerRevisions.get(at(`log-${hash}`));
    expect(first).toMatchObject({ revision: 1, metadata: { labels: { [workloadLabels.controllerRevisionHash]: hash } } });

    await setImage('log', 'i:2');
    const seen: number[] = [];
    const roll = async () => {
      const pods = await play('log');
      seen.push(pods.length);
      return pods;
    };
    await expect.poll(roll, patient).toEqual(['n1=i:2', 'n2=i:2', 'n3=i:2']);
    expect(Math.min(...seen)).toBeGreaterThanOrEqual(2);
    await client.daemonSets.patch({ ...at('log'), type: 'strategic' }, JSON.parse(Buffer.from(first.data?.raw ?? []).toString()));
    await expect.poll(() => play('log'), patient).toEqual(['n1=i:1', 'n2=i:1', 'n3=i:1']);
    const { items } = await client.controllerRevisions.list({ namespace: 'default' });
    expect(items.map(({ revision }) => revision).toSorted()).toEqual([2, 3]);
  }, 40_000);

  it('makes new pods beside old ones with a surge, and loses none', async () => {
    await Promise.all(['n1', 'n2', 'n3'].map((name) => makeNode(name)));
    const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: count(0), maxSurge: count(2) } };
    await server.client.daemonSets.create(setOf('net', { updateStrategy }));
    await expect.poll(() => play('net'), patient).toHaveLength(3);
    await expect.poll(() => statusOf('net'), patient).toMatchObject({ numberAvailable: 3 });
    await setImage('net', 'i:2');
    const seen: number[] = [];
    const roll = async () => {
      const pods = await play('net');
      seen.push(pods.length);
      return pods;
    };
    await expect.poll(roll, patient).toEqual(['n1=i:2', 'n2=i:2', 'n3=i:2']);
    expect([Math.min(...seen), Math.max(...seen) <= 5]).toEqual([3, true]);
  }, 30_000);

  it('goes by labels and taints of nodes, and replaces pods that fail', async () => {
    const { client } = server;
    await Promise.all([makeNode('n1', { disk: 'ssd' }), makeNode('n2')]);
    const template = {
      metadata: { labels: { app: 'ssd' } },
      spec: { containers: containers('i:1'), nodeSelector: { disk: 'ssd' } },
    };
    await client.daemonSets.create(setOf('ssd', { template }));
    await expect.poll(() => play('ssd'), patient).toEqual(['n1=i:1']);
    await client.nodes.patch({ name: 'n2' }, { metadata: { labels: { disk: 'ssd' } } });
    await expect.poll(() => play('ssd'), patient).toEqual(['n1=i:1', 'n2=i:1']);
    await client.nodes.patch({ name: 'n2' }, { spec: { taints: [{ key: 'x', effect: 'NoExecute' }] } });
    await expect.poll(() => play('ssd'), patient).toEqual(['n1=i:1']);
    const [pod] = await podsOf('ssd');
    const failed = { ...at(pod?.metadata?.name ?? ''), subresource: 'status', type: 'strategic' } as const;
    await client.pods.patch(failed, { status: { phase: 'Failed' } });
    const names = async () => (await play('ssd')) && (await podsOf('ssd')).map(({ metadata }) => metadata?.name);
    await expect.poll(names, patient).not.toContain(pod?.metadata?.name);
    const events = (await client.events.list({ namespace: 'default' })).items.map(
      ({ reason, message }) => `${reason}: ${message}`,
    );
    const where = `daemon pod default/${pod?.metadata?.name} on node n1`;
    expect(events).toContain(`SuccessfulCreate: Created pod: ${pod?.metadata?.name}`);
    expect(events).toContain(`SuccessfulDelete: Deleted pod: ${pod?.metadata?.name}`);
    expect(events).toContain(`FailedDaemonPod: Found failed ${where}, will try to kill it`);
  }, 30_000);
});
