import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { asks, writes } from './kubernetes-asks.ts';

// What the server makes of what it is sent, as Kubernetes makes it.
let server: RunningServer;
const ask = asks(() => server);

const { post, put, patch } = writes(ask);

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

describe('quantities', () => {
  const pods = '/api/v1/namespaces/default/pods';
  const podOf = (name: string, limits: object) => ({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } },
    spec: {
      containers: [{ name: 'a', image: 'x', resources: { limits } }],
      volumes: [{ name: 'v', emptyDir: { sizeLimit: '2048Ki' } }],
    },
  });

  it('are stored in the one text of their amount, defaults that are made of them as well', async () => {
    const made = await post(pods, podOf('amounts', { cpu: 0.5, memory: '1024Mi' }));
    expect(made.json.spec.containers[0].resources).toEqual({
      limits: { cpu: '500m', memory: '1Gi' },
      requests: { cpu: '500m', memory: '1Gi' },
    });
    expect(made.json.spec.volumes[0].emptyDir.sizeLimit).toBe('2Mi');
    const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'q' }, spec: { hard: { 'limits.cpu': '5000m' } } };
    expect((await post('/api/v1/namespaces/default/resourcequotas', quota)).json.spec.hard).toEqual({ 'limits.cpu': '5' });
    const limits = [{ type: 'Container', max: { memory: '2048Mi' } }];
    const range = { apiVersion: 'v1', kind: 'LimitRange', metadata: { name: 'r' }, spec: { limits } };
    expect((await post('/api/v1/namespaces/default/limitranges', range)).json.spec.limits[0].max).toEqual({ memory: '2Gi' });
  });

  it('that say the same change nothing: by an update, a patch of each type, and gRPC', async () => {
    const path = `${pods}/same`;
    const made = await post(pods, podOf('same', { cpu: '500m' }));
    const version = made.json.metadata.resourceVersion;
    const containers = [{ name: 'a', image: 'x', resources: { limits: { cpu: '0.5' } } }];
    const rewritten = JSON.parse(made.text.replaceAll('"500m"', '"0.5"'));
    expect((await put(path, rewritten)).json.metadata.resourceVersion).toBe(version);
    const merged = await patch(path, 'strategic-merge-patch+json', { spec: { containers } });
    expect(merged.json.metadata.resourceVersion).toBe(version);
    const operation = { op: 'replace', path: '/spec/containers/0/resources/limits/cpu', value: '0.50' };
    expect((await patch(path, 'json-patch+json', [operation])).json.metadata.resourceVersion).toBe(version);
    const pod = await server.client.pods.get({ namespace: 'default', name: 'same' });
    const { limits, requests } = pod.spec!.containers![0]!.resources!;
    limits!.cpu = { string: '0.5' };
    requests!.cpu = { string: '0.500' };
    expect((await server.client.pods.update(pod)).metadata?.resourceVersion).toBe(version);
  });

  it('are compared by an apply in the form in which they are stored', async () => {
    const path = `${pods}/applied?fieldManager=m`;
    const applied = await patch(path, 'apply-patch+yaml', podOf('applied', { cpu: '0.5', memory: '1024Mi' }));
    expect(applied.code).toBe(201);
    expect(applied.json.spec.containers[0].resources.limits).toEqual({ cpu: '500m', memory: '1Gi' });
    const again = await patch(path, 'apply-patch+yaml', podOf('applied', { cpu: '0.5', memory: '1024Mi' }));
    expect(again.json).toEqual(applied.json);
    const other = await patch(`${pods}/applied?fieldManager=other`, 'apply-patch+yaml', podOf('applied', { cpu: '500m' }));
    expect(other.code).toBe(200);
  });
});

describe('a PUT of an object that is missing', () => {
  const inDefault = '/api/v1/namespaces/default';
  const rbac = '/apis/rbac.authorization.k8s.io/v1';

  it.each([
    ['services', `${inDefault}/services/made`, 'v1', 'Service', { spec: { ports: [{ port: 80 }] } }],
    ['endpoints', `${inDefault}/endpoints/made`, 'v1', 'Endpoints', {}],
    ['limit ranges', `${inDefault}/limitranges/made`, 'v1', 'LimitRange', { spec: { limits: [] } }],
    ['roles', `${rbac}/namespaces/default/roles/made`, 'rbac.authorization.k8s.io/v1', 'Role', { rules: [] }],
    ['leases', '/apis/coordination.k8s.io/v1/namespaces/default/leases/made', 'coordination.k8s.io/v1', 'Lease', {}],
    ['runtime classes', '/apis/node.k8s.io/v1/runtimeclasses/made', 'node.k8s.io/v1', 'RuntimeClass', { handler: 'runc' }],
  ])('makes it: %s', async (_, path, apiVersion, kind, more) => {
    const made = await put(path, { apiVersion, kind, metadata: { name: 'made', resourceVersion: '7' }, ...more });
    expect([made.code, made.json.metadata.uid]).toEqual([201, expect.any(String)]);
    const { metadata } = made.json;
    const again = await put(path, { ...made.json, metadata: { ...metadata, labels: { a: 'b' } } });
    expect([again.code, again.json.metadata.uid]).toEqual([200, metadata.uid]);
    await ask(path, { method: 'DELETE' });
    const other = await put(path, made.json);
    expect([other.code, other.json.reason]).toEqual([409, 'Conflict']);
  });

  it('of other kinds finds nothing', async () => {
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'none' } };
    expect((await put(`${inDefault}/configmaps/none`, map)).code).toBe(404);
    const gone = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'a' }, spec: { ports: [{ port: 80 }] } };
    expect((await put('/api/v1/namespaces/none/services/a', gone)).json.message).toBe('namespaces "none" not found');
  });

  it('stores nothing in a dry run', async () => {
    const endpoints = { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'dry' } };
    expect((await put(`${inDefault}/endpoints/dry?dryRun=All`, endpoints)).code).toBe(201);
    expect((await ask(`${inDefault}/endpoints/dry`)).code).toBe(404);
  });

  it('needs the right to create as well', async () => {
    await post(`${inDefault}/serviceaccounts`, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'updater' } });
    const group = 'rbac.authorization.k8s.io';
    const rules = [{ apiGroups: [''], resources: ['endpoints'], verbs: ['get', 'update'] }];
    const metadata = { name: 'updater' };
    await post(`${rbac}/namespaces/default/roles`, { apiVersion: `${group}/v1`, kind: 'Role', metadata, rules });
    const subjects = [{ kind: 'ServiceAccount', name: 'updater', namespace: 'default' }];
    const roleRef = { apiGroup: group, kind: 'Role', name: 'updater' };
    const binding = { apiVersion: `${group}/v1`, kind: 'RoleBinding', metadata, subjects, roleRef };
    await post(`${rbac}/namespaces/default/rolebindings`, binding);
    const { token } = (await post(`${inDefault}/serviceaccounts/updater/token`, {})).json.status;
    const body = { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'not-mine' } };
    const refused = await ask(`${inDefault}/endpoints/not-mine`, { method: 'PUT', body, token });
    expect([refused.code, refused.json.message]).toEqual([403, expect.stringContaining('cannot create resource "endpoints"')]);
    await put(`${inDefault}/endpoints/not-mine`, body);
    expect((await ask(`${inDefault}/endpoints/not-mine`, { method: 'PUT', body, token })).code).toBe(200);
  });
});

describe('a CertificateSigningRequest', () => {
  const path = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const request = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const pem = (label: string, der: Buffer) => `-----BEGIN ${label}-----\n${der.toString('base64')}\n-----END ${label}-----\n`;
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const asked = (name: string) => ({
    ...{ apiVersion: 'certificates.k8s.io/v1', kind: 'CertificateSigningRequest', metadata: { name } },
    spec: { request: base64(pem('CERTIFICATE REQUEST', request)), signerName: 'example.com/s', usages: ['client auth'] },
  });
  const time = expect.stringMatching(/^\d{4}-.*Z$/);

  it('is given the times of its conditions, and keeps its approval in an update of the status', async () => {
    expect((await post(path, asked('approved'))).code).toBe(201);
    const approval = { type: 'Approved', status: 'True', reason: 'Test' };
    const wish = { metadata: { annotations: { approved: 'yes' } }, status: { conditions: [approval] } };
    const approved = await patch(`${path}/approved/approval`, 'merge-patch+json', wish);
    expect(approved.json).toMatchObject({
      metadata: { annotations: { approved: 'yes' } },
      status: { conditions: [{ ...approval, lastUpdateTime: time, lastTransitionTime: time }] },
    });
    const certificate = base64(pem('CERTIFICATE', request));
    const conditions = [
      { type: 'Approved', status: 'True' },
      { type: 'Seen', status: 'True' },
    ];
    const told = await put(`${path}/approved/status`, { ...approved.json, status: { conditions, certificate } });
    expect([told.code, told.json.status.conditions]).toEqual([
      200,
      [approved.json.status.conditions[0], { ...conditions[1], lastUpdateTime: time, lastTransitionTime: time }],
    ]);
    const again = await patch(`${path}/approved/status`, 'merge-patch+json', { metadata: { labels: { a: 'b' } } });
    expect([again.code, again.json.status]).toEqual([200, told.json.status]);
  });

  it('is not approved through its status', async () => {
    await post(path, asked('sly'));
    const conditions = [{ type: 'Approved', status: 'True' }];
    const refused = await patch(`${path}/sly/status`, 'merge-patch+json', { status: { conditions } });
    expect([refused.code, refused.json.message]).toEqual([
      422,
      'CertificateSigningRequest.certificates.k8s.io "sly" is invalid: status.conditions: ' +
        'Forbidden: updates may not add a condition of type "Approved"',
    ]);
  });
});

it.each([
  { kind: '', apiVersion: '' },
  { kind: null, apiVersion: null },
  { kind: '', apiVersion: 'v1' },
  { kind: 'ConfigMap', apiVersion: '' },
])('an object with the names %j is of the kind that its path names', async (names) => {
  const path = '/api/v1/namespaces/default/configmaps';
  const made = await post(path, { ...names, metadata: { name: 'unnamed' } });
  expect(made).toMatchObject({ code: 201, json: { kind: 'ConfigMap', apiVersion: 'v1' } });
  const changed = await put(`${path}/unnamed`, { ...names, metadata: { name: 'unnamed' }, data: { a: 'b' } });
  expect(changed).toMatchObject({ code: 200, json: { kind: 'ConfigMap', data: { a: 'b' } } });
  expect((await ask(`${path}/unnamed`, { method: 'DELETE' })).code).toBe(200);
});

describe('the generation', () => {
  const generationOf = (answer: { readonly json: { metadata: { generation?: number } } }) => answer.json.metadata.generation;
  const inDefault = '/api/v1/namespaces/default';

  it('of a Deployment counts changes of its annotations, that of a ReplicaSet does not', async () => {
    const template = { metadata: { labels: { app: 'g' } }, spec: { containers: [{ name: 'a', image: 'x' }] } };
    const spec = { replicas: 0, selector: { matchLabels: { app: 'g' } }, template };
    for (const [kind, plural, expected] of [
      ['Deployment', 'deployments', 2],
      ['ReplicaSet', 'replicasets', 1],
    ] as const) {
      const path = `/apis/apps/v1/namespaces/default/${plural}`;
      expect(generationOf(await post(path, { apiVersion: 'apps/v1', kind, metadata: { name: 'g' }, spec }))).toBe(1);
      await patch(`${path}/g`, 'merge-patch+json', { metadata: { labels: { a: 'b' } } });
      const annotated = await patch(`${path}/g`, 'merge-patch+json', { metadata: { annotations: { a: 'b' } } });
      expect([kind, generationOf(annotated)]).toEqual([kind, expected]);
      const told = { metadata: { annotations: { told: 'with the status' } }, status: { replicas: 3 } };
      const seen = await patch(`${path}/g/status`, 'merge-patch+json', told);
      expect([seen.code, generationOf(seen)]).toEqual([200, expected]);
    }
  });

  it.each([
    ['Service', 'services', { ports: [{ port: 80 }] }, { ports: [{ port: 81 }] }],
    ['ResourceQuota', 'resourcequotas', { hard: { pods: '5' } }, { hard: { pods: '6' } }],
    ['LimitRange', 'limitranges', { limits: [] }, { limits: [{ type: 'Pod', max: { cpu: '2' } }] }],
  ])('is none of a %s', async (kind, plural, spec, next) => {
    const path = `${inDefault}/${plural}`;
    expect(generationOf(await post(path, { apiVersion: 'v1', kind, metadata: { name: 'plain' }, spec }))).toBeUndefined();
    const changed = await patch(`${path}/plain`, 'merge-patch+json', { spec: next });
    expect([changed.code, generationOf(changed)]).toEqual([200, undefined]);
    await ask(`${path}/plain`, { method: 'DELETE' });
  });

  it('of a CSIDriver counts the changes of its spec, and the deletion after these', async () => {
    const drivers = '/apis/storage.k8s.io/v1/csidrivers';
    const driver = { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name: 'd', finalizers: ['example.com/a'] } };
    const spec = { attachRequired: false };
    expect(generationOf(await post(drivers, { ...driver, spec }))).toBeUndefined();
    const change = (body: object) => patch(`${drivers}/d`, 'merge-patch+json', body);
    expect(generationOf(await change({ metadata: { labels: { a: 'b' } } }))).toBeUndefined();
    expect(generationOf(await change({ spec: { requiresRepublish: true } }))).toBe(1);
    expect(generationOf(await change({ spec: { requiresRepublish: false } }))).toBe(2);
    expect(generationOf(await ask(`${drivers}/d`, { method: 'DELETE' }))).toBe(3);
    await post(drivers, { ...driver, metadata: { ...driver.metadata, name: 'unchanged' }, spec });
    expect(generationOf(await ask(`${drivers}/unchanged`, { method: 'DELETE' }))).toBeUndefined();
  });

  it('of an EndpointSlice counts changes of all but its metadata, that of a PriorityClass stays 1', async () => {
    const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
    const slice = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', metadata: { name: 's' }, addressType: 'IPv4' };
    expect(generationOf(await post(slices, { ...slice, endpoints: [] }))).toBe(1);
    expect(generationOf(await patch(`${slices}/s`, 'merge-patch+json', { metadata: { labels: { a: 'b' } } }))).toBe(1);
    const endpoints = [{ addresses: ['10.1.2.3'] }];
    expect(generationOf(await patch(`${slices}/s`, 'merge-patch+json', { endpoints }))).toBe(2);
    const classes = '/apis/scheduling.k8s.io/v1/priorityclasses';
    const group = { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name: 'p' }, value: 5 };
    expect(generationOf(await post(classes, group))).toBe(1);
    expect(generationOf(await patch(`${classes}/p`, 'merge-patch+json', { description: 'more' }))).toBe(1);
  });
});

describe('a new object', () => {
  const template = { metadata: { labels: { app: 'n' } }, spec: { containers: [{ name: 'a', image: 'x' }] } };
  const selector = { matchLabels: { app: 'n' } };

  it.each([
    ['apps/v1', 'ReplicaSet', { selector, template, replicas: 0 }, { replicas: 0 }],
    ['apps/v1', 'StatefulSet', { selector, template, serviceName: 'n' }, { replicas: 0, availableReplicas: 0 }],
    [
      ...(['apps/v1', 'DaemonSet', { selector, template }] as const),
      { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 },
    ],
    [
      ...(['policy/v1', 'PodDisruptionBudget', { selector, minAvailable: 1 }] as const),
      { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 },
    ],
  ])('of %s %s shows the counts that its controller has yet to make', async (apiVersion, kind, spec, status) => {
    const path = `/apis/${apiVersion}/namespaces/default/${kind.toLowerCase()}s`;
    const sent = { apiVersion, kind, metadata: { name: 'counted' }, spec, status: { replicas: 9 } };
    expect((await post(path, sent)).json.status).toEqual(status);
    expect((await ask(`${path}/counted`)).json.status).toEqual(status);
  });
});
