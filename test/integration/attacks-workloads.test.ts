import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OwnerReference, Pod, PodSpec } from '../../api/generated/types.ts';
import { jobTrackingFinalizer } from '../../api/meta/workload-names.ts';
import { formatToken } from '../../apiserver/authn/tokens.ts';
import { type Client, connect } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { startControllers } from './controllers-harness.ts';

// What an editor of the namespace "team", who may look at "prod", tries to do to others by way of the controllers.

let server: RunningServer;
let editor: Client;
let stopControllers: () => Promise<void>;
const spec: PodSpec = { containers: [{ name: 'main', image: 'x' }] };

beforeAll(async () => {
  const first = await startServer();
  await first.stop();
  const file = join(first.dataDir, 'pki', 'tokens');
  await writeFile(file, (await readFile(file, 'utf8')) + formatToken('token-of-editor', { user: 'editor', groups: [] }));
  server = await startServer({ dataDir: first.dataDir });
  const { namespaces, roleBindings } = server.client;
  const subjects = [{ kind: 'User', name: 'editor' }];
  for (const [namespace, role] of [
    ['team', 'edit'],
    ['prod', 'view'],
  ] as const) {
    await namespaces.create({ metadata: { name: namespace } });
    await roleBindings.create({ metadata: { namespace, name: role }, roleRef: { kind: 'ClusterRole', name: role }, subjects });
  }
  const { address, ca } = server.info;
  editor = connect({ address, ca, token: 'token-of-editor' });
  stopControllers = await startControllers(server);
});
afterAll(async () => {
  await stopControllers();
  editor.close();
  await server.stop();
  await server.remove();
});

/** A pod in "team" that names an object of "prod" as what controls it. */
const foreignPod = (name: string, owner: OwnerReference, labels: Record<string, string>, finalizers: string[]): Pod => ({
  metadata: {
    ...{ namespace: 'team', name, labels, finalizers },
    ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
  },
  spec,
});
const inProd = async (): Promise<Pod[]> => (await server.client.pods.list({ namespace: 'prod' })).items;
const others = { timeout: 10_000 };

/** Waits until the Job controller has counted a pod that fails now: by then it has seen all earlier changes of pods. */
async function untilPodsAreSeen(): Promise<void> {
  const at = { namespace: 'default', name: 'mark' };
  const template = { spec: { ...spec, restartPolicy: 'Never' } };
  await server.client.jobs.create({ metadata: at, spec: { backoffLimit: 0, template } });
  const pods = async () => (await server.client.pods.list({ namespace: 'default' })).items;
  await expect.poll(async () => (await pods()).length, others).toBe(1);
  const [pod] = await pods();
  await server.client.pods.patch(
    { namespace: 'default', name: pod?.metadata?.name ?? '', subresource: 'status' },
    { status: { phase: 'Failed' } },
  );
  await expect.poll(async () => (await server.client.jobs.get(at)).status?.failed, others).toBe(1);
}

describe('objects that name an owner of another namespace', () => {
  it('do not count for a Job', async () => {
    const { jobs } = server.client;
    const template = { spec: { ...spec, restartPolicy: 'Never' } };
    const made = await jobs.create({ metadata: { namespace: 'prod', name: 'work' }, spec: { backoffLimit: 0, template } });
    await expect.poll(async () => (await inProd()).length, others).toBe(1);
    const before = await inProd();
    const { uid = '' } = (await editor.jobs.get({ namespace: 'prod', name: 'work' })).metadata ?? {};
    const labels = made.spec?.selector?.matchLabels ?? {};
    const owner = { apiVersion: 'batch/v1', kind: 'Job', name: 'work', uid };
    const finalizers = [jobTrackingFinalizer, 'example.com/stay'];
    for (const name of ['a', 'b']) {
      await editor.pods.create(foreignPod(name, owner, labels, finalizers));
      await editor.pods.delete({ namespace: 'team', name });
    }
    await untilPodsAreSeen();
    const { status } = await jobs.get({ namespace: 'prod', name: 'work' });
    expect(status).toMatchObject({ active: 1 });
    expect(status?.failed ?? 0).toBe(0);
    // Nor does it lose its finalizer for a moment, in which its end would not be counted.
    expect(await inProd()).toEqual(before);
    await jobs.delete({ namespace: 'prod', name: 'work' }, { propagationPolicy: 'Background' });
    await expect.poll(async () => (await inProd()).length, others).toBe(0);
  });

  it('do not keep it from being deleted, and are no pods of a ReplicaSet', async () => {
    const { replicaSets } = server.client;
    const labels = { app: 'web' };
    const set = { replicas: 0, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } };
    const at = { namespace: 'prod', name: 'web' };
    const { metadata } = await replicaSets.create({ metadata: at, spec: set });
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: metadata?.uid ?? '' };
    await editor.pods.create(foreignPod('c', owner, labels, ['example.com/stay']));
    await replicaSets.patch(at, { spec: { replicas: 1 } });
    await expect.poll(async () => (await inProd()).length, others).toBe(1);
    await replicaSets.delete(at, { propagationPolicy: 'Foreground' });
    await expect.poll(async () => (await replicaSets.list({ namespace: 'prod' })).items.length, others).toBe(0);
  });
});

it('a StatefulSet of two thousand million replicas leaves the others their controllers', async () => {
  const { statefulSets, replicaSets } = server.client;
  for (const podManagementPolicy of ['OrderedReady', 'Parallel']) {
    const labels = { app: podManagementPolicy.toLowerCase() };
    const set = { replicas: 2 ** 31 - 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } };
    const metadata = { namespace: 'team', name: labels.app };
    await editor.statefulSets.create({ metadata, spec: { ...set, podManagementPolicy } });
    await expect.poll(async () => (await statefulSets.get(metadata)).status?.observedGeneration, others).toBe(1);
    await editor.statefulSets.delete(metadata);
  }
  const labels = { app: 'small' };
  const small = { replicas: 2, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } };
  await replicaSets.create({ metadata: { namespace: 'prod', name: 'small' }, spec: small });
  await expect.poll(async () => (await inProd()).length, others).toBe(2);
}, 60_000);

describe('pods that controllers make of a template are judged as if the editor made them', () => {
  const mirror = { annotations: { 'kubernetes.io/config.mirror': 'x', 'kubernetes.io/config.source': 'file' } };
  it.each<[string, PodSpec, object, RegExp]>([
    [
      'a privileged container',
      { containers: [{ ...spec.containers![0]!, securityContext: { privileged: true } }] },
      {},
      /PodSecurity/,
    ],
    ['a priority class of the system', { ...spec, priorityClassName: 'system-node-critical' }, {}, /system-node-critical/],
    ['an account of another namespace', { ...spec, serviceAccountName: 'strong' }, {}, /"strong" not found/],
    ['the looks of a static pod', { ...spec, nodeName: 'n1' }, mirror, /only the agent of a node may set/],
  ])('%s is refused', async (title, podSpec, metadata, why) => {
    const { namespaces, replicaSets, serviceAccounts } = server.client;
    const level = { 'pod-security.kubernetes.io/enforce': 'baseline' };
    await namespaces.patch({ name: 'team' }, { metadata: { labels: level } });
    await serviceAccounts.create({ metadata: { namespace: 'prod', name: 'strong' } }).catch(() => {});
    const name = title.replaceAll(' ', '-');
    const labels = { app: name };
    const template = { metadata: { labels, ...metadata }, spec: podSpec };
    const at = { namespace: 'team', name };
    await editor.replicaSets.create({ metadata: at, spec: { replicas: 1, selector: { matchLabels: labels }, template } });
    const failure = async () =>
      (await replicaSets.get(at)).status?.conditions?.find(({ type }) => type === 'ReplicaFailure')?.message;
    await expect.poll(failure, others).toMatch(why);
    expect((await server.client.pods.list({ namespace: 'team', labelSelector: `app=${name}` })).items).toEqual([]);
  });
});
