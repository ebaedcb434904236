import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Pod, PodSpec } from '../../api/generated/types.ts';
import { issueNodeCredentials } from '../../apiserver/main.ts';
import { type Client, connect } from '../../client/index.ts';
import { type RunningServer, readPair, startServer } from './apiserver-harness.ts';

// What a stolen certificate of a node reads and changes of other nodes and of tenants, and whether a pod may take the
// place of a static pod's mirror: each try is refused, and nothing has changed.
let server: RunningServer;
let n1: Client;
let editor: Client;

const container = { name: 'main', image: 'x' };
const podOf = (name: string, spec: PodSpec = {}, namespace = 'default'): Pod => ({
  metadata: { namespace, name, labels: { app: name } },
  spec: { containers: [container], ...spec },
});
const at = (name: string, namespace = 'default') => ({ namespace, name });

async function mirrorOf(name: string, node: string, change: Partial<Pod['metadata']> = {}): Promise<Pod> {
  const { metadata } = await server.client.nodes.get({ name: node });
  const owner = { apiVersion: 'v1', kind: 'Node', name: node, ...(metadata?.uid && { uid: metadata.uid }), controller: true };
  const pod = podOf(name, { nodeName: node });
  const annotations = { 'kubernetes.io/config.mirror': '0123456789abcdef0123456789abcdef' };
  return { ...pod, metadata: { ...pod.metadata, annotations, ownerReferences: [owner], ...change } };
}

beforeAll(async () => {
  server = await startServer();
  const { client, info, admin } = server;
  await issueNodeCredentials(server.dataDir, 'n1');
  n1 = connect({ address: info.address, ca: info.ca, ...(await readPair(server.dataDir, 'node-n1')) });
  editor = connect({ ...admin, impersonate: { user: 'editor' } });
  for (const name of ['n1', 'n2']) await client.nodes.create({ metadata: { name } });
  await client.roleBindings.create({
    metadata: { namespace: 'default', name: 'editor' },
    roleRef: { kind: 'ClusterRole', name: 'edit' },
    subjects: [{ kind: 'User', name: 'editor' }],
  });
  // What the built-in role leaves out, as in Kubernetes.
  await client.clusterRoles.create({
    metadata: { name: 'debugger', labels: { 'rbac.authorization.k8s.io/aggregate-to-edit': 'true' } },
    rules: [{ apiGroups: [''], resources: ['pods/ephemeralcontainers'], verbs: ['update', 'patch'] }],
  });
  for (const namespace of ['default', 'team'])
    await client.namespaces.create({ metadata: { name: namespace } }).catch(() => undefined);
  await client.secrets.create({ metadata: at('theirs'), stringData: { password: 'secret' } });
  await client.pods.create(
    podOf('theirs', { nodeName: 'n2', volumes: [{ name: 's', volumeSource: { secret: { secretName: 'theirs' } } }] }),
  );
  await client.pods.create(podOf('mine', { nodeName: 'n1' }));
  await client.pods.create(podOf('open'));
  await client.pods.create(await mirrorOf('static-n2', 'n2'));
});
afterAll(async () => {
  for (const client of [n1, editor]) client.close();
  await server.stop();
  await server.remove();
});

describe("a node's certificate in foreign hands", () => {
  it.each<[string, () => Promise<unknown>]>([
    ["delete another node's pod", () => n1.pods.delete(at('theirs'))],
    ["delete another node's mirror", () => n1.pods.delete(at('static-n2'), { gracePeriodSeconds: 0 })],
    ['delete a pod that no node has', () => n1.pods.delete(at('open'))],
    [
      "report for another node's mirror",
      () => n1.pods.patch({ ...at('static-n2'), subresource: 'status' }, { status: { podIP: '10.9.9.9' } }),
    ],
    ['make a mirror on another node', async () => n1.pods.create(await mirrorOf('false-n2', 'n2'))],
    [
      "make a mirror of its own that goes with another node's",
      async () => n1.pods.create(await mirrorOf('x', 'n1', (await mirrorOf('x', 'n2')).metadata)),
    ],
    ['make a pod that is no mirror', () => n1.pods.create(podOf('plain', { nodeName: 'n1' }))],
    ['change what its own pod runs', () => n1.pods.patch(at('mine'), { spec: { containers: [{ ...container, image: 'y' }] } })],
    ["change its own pod's labels", () => n1.pods.patch(at('mine'), { metadata: { labels: { app: 'theirs' } } })],
    [
      'add a container to its own pod',
      async () => {
        const pod = await server.client.pods.get(at('mine'));
        const debug = { ephemeralContainerCommon: { name: 'debug', image: 'y' } };
        return n1.pods.updateEphemeralContainers({ ...pod, spec: { ...pod.spec, ephemeralContainers: [debug] } });
      },
    ],
    ['bind a pod to itself', () => n1.pods.bind(at('open'), 'n1')],
    ["read another node's pod", () => n1.pods.get(at('theirs'))],
    ['list the pods of all nodes', () => n1.pods.list()],
    ["list another node's pods", () => n1.pods.list({ fieldSelector: 'spec.nodeName=n2' })],
    ["read a Secret of another node's pod", () => n1.secrets.get(at('theirs'))],
    ['list Secrets', () => n1.secrets.list({ namespace: 'default' })],
    ["read another node's Node", () => n1.nodes.get({ name: 'n2' })],
    ['report for another node', () => n1.nodes.patch({ name: 'n2', subresource: 'status' }, { status: {} })],
    ['delete its Node', () => n1.nodes.delete({ name: 'n1' })],
    ['read roles', () => n1.clusterRoles.list()],
    ['make itself an administrator', () => n1.clusterRoleBindings.create({ metadata: { name: 'x' } } as never)],
  ])('cannot %s', async (_, attempt) => {
    const before = await server.client.pods.list();
    await expect(attempt()).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect((await server.client.pods.list()).items).toEqual(before.items);
  });

  it('deletes the pods of its own node and reports for them, as its agent does', async () => {
    await n1.pods.patch({ ...at('mine'), subresource: 'status' }, { status: { message: 'seen' } });
    await n1.pods.delete(at('mine'), { gracePeriodSeconds: 0 });
    await expect(server.client.pods.get(at('mine'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('the stream on which agents send their heartbeats', () => {
  it('changes nothing of another node, nor where the pods of its own have their addresses', async () => {
    const lease = (name: string) => ({ metadata: at(name, 'kube-node-lease'), spec: { holderIdentity: name } });
    for (const name of ['n1', 'n2']) await server.client.leases.create(lease(name)).catch(() => undefined);
    const bulk = n1.bulkWriter();
    const [leases, metrics, nodes] = [bulk.resource('Lease'), bulk.resource('NodeMetrics'), bulk.resource('Node')];
    const range = { spec: { podCIDR: '10.9.0.0/24', podCIDRs: ['10.9.0.0/24'] } };
    const own = leases.patch(at('n1', 'kube-node-lease'), { spec: { leaseDurationSeconds: 41 } });
    const tries = [
      leases.patch(at('n2', 'kube-node-lease'), { spec: { holderIdentity: 'n1' } }),
      leases.delete(at('n2', 'kube-node-lease')),
      metrics.create({ metadata: { name: 'n2' } }),
      nodes.patch({ name: 'n2', subresource: 'status' }, { status: {} }),
      nodes.patch({ name: 'n1' }, range),
    ];
    const answers = await Promise.allSettled(tries);
    for (const each of answers) expect(each).toMatchObject({ reason: { code: 'PERMISSION_DENIED' } });
    await own;
    // The status is another part of a Node: what is written of the range with it is left out.
    await nodes.patch({ name: 'n1', subresource: 'status' }, range);
    await bulk.close();
    expect((await server.client.nodes.get({ name: 'n1' })).spec?.podCIDR).toBeUndefined();
    expect((await server.client.leases.get(at('n2', 'kube-node-lease'))).spec?.holderIdentity).toBe('n2');
  });
});

describe('an editor', () => {
  it("takes the name of a static pod's mirror, and no more: its pod is none", async () => {
    const pod = await editor.pods.create(podOf('static-n1'));
    await expect(n1.pods.create(await mirrorOf('static-n1', 'n1'))).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    const annotations = { 'kubernetes.io/config.mirror': 'x' };
    await expect(editor.pods.patch(at('static-n1'), { metadata: { annotations } })).rejects.toThrow('mirror pod annotation');
    await expect(editor.pods.create(await mirrorOf('false', 'n1'))).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(await server.client.pods.get(at('static-n1'))).toEqual(pod);
  });
});

describe.each([
  ['baseline', { securityContext: { privileged: true } }, 'privileged'],
  ['baseline', { securityContext: { capabilities: { add: ['SYS_PTRACE'] } } }, 'capabilities'],
  ['restricted', {}, 'allowPrivilegeEscalation'],
  [
    'restricted',
    { securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] }, runAsNonRoot: false } },
    'runAsNonRoot',
  ],
])('in a namespace of the level %s a debug container with %j', (level, changes, why) => {
  it(`is refused: ${why}`, async () => {
    const namespace = `held-${level}`;
    const labels = { 'pod-security.kubernetes.io/enforce': level };
    const { namespaces, pods, roleBindings } = server.client;
    await namespaces.create({ metadata: { name: namespace, labels } }).catch(() => undefined);
    await roleBindings
      .create({
        metadata: { namespace, name: 'editor' },
        roleRef: { kind: 'ClusterRole', name: 'edit' },
        subjects: [{ kind: 'User', name: 'editor' }],
      })
      .catch(() => undefined);
    const safe = {
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [{ ...container, securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } } }],
    };
    const pod = await pods.create(podOf(`without-${why.toLowerCase()}`, safe, namespace));
    const debug = { name: 'debug', image: 'x', ...changes };
    const ephemeralContainers = [{ ephemeralContainerCommon: debug, targetContainerName: 'main' }];
    const joining = { ...pod, spec: { ...pod.spec, ephemeralContainers } };
    await expect(editor.pods.updateEphemeralContainers(joining)).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      message: expect.stringContaining(why),
    });
    const key = { namespace, name: pod.metadata!.name! };
    const patch = { spec: { ephemeralContainers: [{ ...debug, targetContainerName: 'main' }] } };
    await expect(editor.pods.patch({ ...key, subresource: 'ephemeralcontainers' }, patch)).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
    });
    expect((await pods.get(key)).spec?.ephemeralContainers ?? []).toEqual([]);
  });
});
