import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeMessage } from '../../api/codec/message.ts';
import { envelope } from '../../apiserver/http/protobuf/kubernetes-protobuf.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { asks, writes } from './kubernetes-asks.ts';

// What becomes of values that clients may say in more than one way.
let server: RunningServer;
const ask = asks(() => server);

const { post, patch } = writes(ask);

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

describe('null in a map of texts', () => {
  const maps = '/api/v1/namespaces/default/configmaps';
  const mapOf = (name: string, data: object, labels: object = {}) => ({
    ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels }, data },
  });

  it('is an empty text in a create, however strictly it is read, and in an update', async () => {
    const made = await post(`${maps}?fieldValidation=Strict`, mapOf('made', { a: null, b: 'x' }, { l: null }));
    expect([made.code, made.json.data, made.json.metadata.labels]).toEqual([201, { a: '', b: 'x' }, { l: '' }]);
    const updated = await ask(`${maps}/made`, { method: 'PUT', body: mapOf('made', { c: null }) });
    expect(updated.json.data).toEqual({ c: '' });
  });

  it('is an empty text in a JSON patch, and removes the key in the patches that merge', async () => {
    await post(maps, mapOf('patched', { a: '1', b: '2', c: '3' }));
    const operations = [{ op: 'replace', path: '/data/a', value: null }];
    expect((await patch(`${maps}/patched`, 'json-patch+json', operations)).json.data).toEqual({ a: '', b: '2', c: '3' });
    const merged = await patch(`${maps}/patched`, 'merge-patch+json', { data: { a: null, d: null } });
    expect(merged.json.data).toEqual({ b: '2', c: '3' });
    const strategic = await patch(`${maps}/patched`, 'strategic-merge-patch+json', { data: { b: null, d: null } });
    expect(strategic.json.data).toEqual({ c: '3' });
  });

  it('is an empty text that is owned in an apply', async () => {
    const path = `${maps}/applied?fieldManager=m`;
    const applied = await patch(path, 'apply-patch+yaml', mapOf('applied', { a: null }));
    expect([applied.code, applied.json.data]).toEqual([201, { a: '' }]);
    expect(applied.json.metadata.managedFields[0].fieldsV1['f:data']).toMatchObject({ 'f:a': {} });
    const again = await patch(path, 'apply-patch+yaml', mapOf('applied', { a: null }));
    expect(again.json.metadata.resourceVersion).toBe(applied.json.metadata.resourceVersion);
    expect((await patch(path, 'apply-patch+yaml', mapOf('applied', {}))).json.data).toBeUndefined();
  });

  it('is an empty text in the metadata of a custom object, and null elsewhere where the schema allows it', async () => {
    const schema = {
      ...{ type: 'object' },
      properties: { spec: { type: 'object', properties: { a: { type: 'string', nullable: true } } } },
    };
    const names = { plural: 'nullables', singular: 'nullable', kind: 'Nullable' };
    await post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: 'nullables.example.com' } },
      spec: {
        ...{ group: 'example.com', scope: 'Namespaced', names },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
      },
    });
    const path = '/apis/example.com/v1/namespaces/default/nullables';
    await expect.poll(async () => (await ask(path)).code).toBe(200);
    const metadata = { name: 'x', annotations: { n: null } };
    const made = await post(path, { apiVersion: 'example.com/v1', kind: 'Nullable', metadata, spec: { a: null } });
    expect([made.code, made.json.metadata.annotations, made.json.spec]).toEqual([201, { n: '' }, { a: null }]);
  });
});

it('null in a list is the zero of its type', async () => {
  const body = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'nulls' } },
    spec: { containers: [{ name: 'a', image: 'x', args: [null, 'b'] }], nodeSelector: { disk: null } },
  };
  const made = await post('/api/v1/namespaces/default/pods', body);
  expect([made.code, made.json.spec.containers[0].args, made.json.spec.nodeSelector]).toEqual([201, ['', 'b'], { disk: '' }]);
  const nameless = await post('/api/v1/namespaces/default/pods', { ...body, spec: { containers: [null] } });
  expect([nameless.code, nameless.json.message]).toEqual([
    422,
    expect.stringContaining('spec.containers[0].name: Required value'),
  ]);
});

it('a time is kept to the second, one of microseconds to these, in JSON and protobuf', async () => {
  const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
  const job = {
    ...{ apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'timed' } },
    spec: { suspend: true, template: { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'x' }] } } },
  };
  await post('/apis/batch/v1/namespaces/default/jobs', job);
  const condition = { type: 'Odd', status: 'True', lastProbeTime: '2026-01-31T12:00:00.9Z' };
  const told = await patch('/apis/batch/v1/namespaces/default/jobs/timed/status', 'merge-patch+json', {
    status: { conditions: [condition] },
  });
  expect(told.json.status.conditions).toMatchObject([{ lastProbeTime: '2026-01-31T12:00:00Z' }]);
  expect((await server.client.jobs.get({ namespace: 'default', name: 'timed' })).status?.conditions).toMatchObject([
    { lastProbeTime: { seconds: 1769860800 } },
  ]);
  const renewTime = { seconds: 1769860800, nanos: 123_456_789 };
  const bytes = encodeMessage('berth.coordination.v1.Lease', { metadata: { name: 'timed' }, spec: { renewTime } });
  const body = envelope({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }, bytes);
  const type = { 'content-type': 'application/vnd.kubernetes.protobuf' };
  const made = await ask(leases, { method: 'POST', body, headers: type });
  expect([made.code, made.json.spec.renewTime]).toEqual([201, '2026-01-31T12:00:00.123456Z']);
});
