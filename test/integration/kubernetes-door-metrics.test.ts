import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { asks, writes } from './kubernetes-asks.ts';

// metrics.k8s.io as metrics-server answers it, of what agents report, and of what they must not.
let server: RunningServer;
const ask = asks(() => server);
const { post, put } = writes(ask);

const inDefault = '/api/v1/namespaces/default';
const podOf = (name: string) => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, labels: { app: name } } },
  spec: { containers: [{ name: 'main', image: 'busybox' }] },
});
const nodeOf = (name: string) => ({ apiVersion: 'v1', kind: 'Node', metadata: { name, labels: { zone: 'a' } } });

afterAll(async () => {
  await server.stop();
  await server.remove();
});

const at = '/apis/metrics.k8s.io/v1beta1';
const time = '2026-01-02T03:04:05Z';

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
  await post('/api/v1/nodes', nodeOf('measured'));
  const { uid } = (await post(`${inDefault}/pods`, podOf('measured'))).json.metadata;
  await post(`${inDefault}/pods/measured/binding`, {
    metadata: { name: 'measured' },
    target: { kind: 'Node', name: 'measured' },
  });
  const containers = [{ name: 'main', usage: { cpu: '1500u', memory: '2Mi' } }];
  const metrics = { apiVersion: 'metrics.k8s.io/v1beta1', kind: 'NodeMetrics', metadata: { name: 'measured' } };
  const usage = { cpu: '250m', memory: '1000000' };
  const pods = [{ namespace: 'default', name: 'measured', uid, containers }, ...(await Promise.all(unmeasured.map(podWith)))];
  await post(`${at}/nodemetrics`, { ...metrics, timestamp: time, window: '14.5s', usage, pods });
});

const unmeasured = [
  { name: 'nothing-runs', containers: [] },
  { name: 'measured-once', containers: [{ name: 'main', usage: { memory: '2Mi' } }] },
  {
    name: 'half-measured',
    containers: [
      { name: 'main', usage: { cpu: '1', memory: '2Mi' } },
      { name: 'side', usage: {} },
    ],
  },
];

async function podWith({ name, containers }: (typeof unmeasured)[number]) {
  const { uid } = (await post(`${inDefault}/pods`, podOf(name))).json.metadata;
  const target = { kind: 'Node', name: 'measured' };
  await post(`${inDefault}/pods/${name}/binding`, { metadata: { name }, target });
  return { namespace: 'default', name, uid, containers };
}

it('has nodes, with their labels, in the units of metrics-server', async () => {
  const { json } = await ask(`${at}/nodes/measured`);
  expect(json).toEqual({
    ...{ kind: 'NodeMetrics', apiVersion: 'metrics.k8s.io/v1beta1' },
    metadata: { name: 'measured', labels: { zone: 'a' }, creationTimestamp: time },
    ...{ timestamp: time, window: '14.5s', usage: { cpu: '250m', memory: '977Ki' } },
  });
  expect((await ask(`${at}/nodes?labelSelector=zone%3Db`)).json.items).toEqual([]);
});

it('has no node that was measured once', async () => {
  await post('/api/v1/nodes', nodeOf('measured-once'));
  const once = { apiVersion: 'metrics.k8s.io/v1beta1', kind: 'NodeMetrics', metadata: { name: 'measured-once' } };
  await post(`${at}/nodemetrics`, { ...once, timestamp: time, window: '0s', usage: { memory: '1000000' } });
  const { json } = await ask(`${at}/nodes`);
  expect(json.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toEqual(['measured']);
  expect((await ask(`${at}/nodes/measured-once`)).code).toBe(404);
});

it('has pods, one, of a namespace and by labels', async () => {
  const containers = [{ name: 'main', usage: { cpu: '1500000n', memory: '2048Ki' } }];
  const { json } = await ask(`${at}/namespaces/default/pods/measured`);
  expect(json).toMatchObject({ kind: 'PodMetrics', metadata: { name: 'measured', namespace: 'default' }, containers });
  const list = await ask(`${at}/pods?labelSelector=app%3Dmeasured`);
  expect(list.json).toMatchObject({ kind: 'PodMetricsList', items: [{ containers }] });
  expect((await ask(`${at}/namespaces/kube-system/pods`)).json.items).toEqual([]);
});

it('believes of what a node says of pods what is about its own, once', async () => {
  const before = (await ask(`${at}/pods`)).json.items;
  const { uid } = (await post(`${inDefault}/pods`, podOf('elsewhere'))).json.metadata;
  const target = { kind: 'Node', name: 'measured-once' };
  await post(`${inDefault}/pods/elsewhere/binding`, { metadata: { name: 'elsewhere' }, target });
  const told = (await ask(`${at}/nodemetrics/measured`)).json;
  const containers = [{ name: 'main', usage: { cpu: '64', memory: '1Ti' } }];
  const forged = [{ namespace: 'default', name: 'elsewhere', uid, containers }, told.pods[0]];
  const { code } = await put(`${at}/nodemetrics/measured`, { ...told, pods: [...told.pods, ...forged] });
  expect(code).toBe(200);
  expect((await ask(`${at}/pods`)).json.items).toEqual(before);
  expect((await ask(`${at}/namespaces/default/pods/elsewhere`)).code).toBe(404);
});

it("has a static pod's mirror, which its node knows by another uid", async () => {
  const mirrored = '0123456789abcdef0123456789abcdef';
  const { spec } = podOf('static-measured');
  const node = (await ask('/api/v1/nodes/measured')).json;
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name: 'measured', uid: node.metadata.uid, controller: true }];
  const annotations = { 'kubernetes.io/config.mirror': mirrored };
  const metadata = { name: 'static-measured', annotations, ownerReferences };
  const made = await post(`${inDefault}/pods`, {
    ...podOf('static-measured'),
    metadata,
    spec: { ...spec, nodeName: 'measured' },
  });
  expect(made.code).toBe(201);
  const told = (await ask(`${at}/nodemetrics/measured`)).json;
  const containers = [{ name: 'main', usage: { cpu: '1', memory: '2Mi' } }];
  const own = { namespace: 'default', name: 'static-measured', uid: mirrored, containers };
  await put(`${at}/nodemetrics/measured`, { ...told, pods: [...told.pods, own] });
  expect((await ask(`${at}/namespaces/default/pods/static-measured`)).code).toBe(200);
  const { items } = (await ask(`${at}/namespaces/default/pods`)).json;
  expect(items.map((each: { metadata: { name: string } }) => each.metadata.name)).toEqual(['measured', 'static-measured']);
  await put(`${at}/nodemetrics/measured`, { ...(await ask(`${at}/nodemetrics/measured`)).json, pods: told.pods });
});

it('has no pod whose containers were not all measured', async () => {
  const { json } = await ask(`${at}/namespaces/default/pods`);
  expect(json.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toEqual(['measured']);
});

type Refused = [what: string, method: string, path: string, headers: Record<string, string>, code: number];
it.each<Refused>([
  ...unmeasured.map(({ name }): Refused => [`of the pod ${name}`, 'GET', `${at}/namespaces/default/pods/${name}`, {}, 404]),
  ['of a pod that is not there', 'GET', `${at}/namespaces/default/pods/absent`, {}, 404],
  ['that is written', 'DELETE', `${at}/nodes/measured`, {}, 405],
  ['of a user without rights', 'GET', `${at}/nodes`, { 'impersonate-user': 'bob' }, 403],
])('%s is refused', async (_, method, path, headers, code) => {
  expect((await ask(path, { method, headers })).code).toBe(code);
});
