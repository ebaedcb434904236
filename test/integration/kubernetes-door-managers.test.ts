import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { asks } from './kubernetes-asks.ts';

// managedFields as clients of Kubernetes' HTTP API see and send them: from the first write on with the fields.
let server: RunningServer;
const ask = asks(() => server);

const maps = '/api/v1/namespaces/default/configmaps';
const mapOf = (name: string, data: Record<string, string>, more: object = {}) => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels: { app: name }, ...more }, data },
});
const create = (name: string, data: Record<string, string>) =>
  ask(`${maps}?fieldManager=creator`, { method: 'POST', body: mapOf(name, data) });
const patch = (name: string, body: object, manager: string) =>
  ask(`${maps}/${name}?fieldManager=${manager}`, {
    ...{ method: 'PATCH', body, headers: { 'content-type': 'application/merge-patch+json' } },
  });

/** The fields of each manager. */
// biome-ignore lint/suspicious/noExplicitAny: the JSON of an answer
const ownersIn = ({ metadata }: any): Record<string, unknown> =>
  Object.fromEntries(
    metadata.managedFields.map((entry: { manager: string; fieldsV1?: object }) => [entry.manager, entry.fieldsV1]),
  );
const read = async (name: string) => (await ask(`${maps}/${name}`)).json;
/** As the server keeps them: whether the entry has its fields. */
const kept = async (name: string) =>
  (await server.client.configMaps.get({ namespace: 'default', name })).metadata?.managedFields?.map(({ manager, fieldsV1 }) => [
    manager,
    fieldsV1 !== undefined,
  ]);

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

describe('the fields of the creator', () => {
  const all = { 'f:metadata': { 'f:labels': { 'f:app': {} } }, 'f:data': { 'f:a': {}, 'f:b': {} } };

  it('are in the answer of the create, in gets, lists and watches, and in metadata alone', async () => {
    const made = await create('first', { a: '1', b: '1' });
    expect(ownersIn(made.json)).toEqual({ creator: all });
    expect(ownersIn(await read('first'))).toEqual({ creator: all });
    const one = 'fieldSelector=metadata.name%3Dfirst';
    expect(ownersIn((await ask(`${maps}?${one}`)).json.items[0])).toEqual({ creator: all });
    const accept = (as: string) => ({ accept: `application/json;as=${as};g=meta.k8s.io;v=v1` });
    const partial = await ask(`${maps}/first`, { headers: accept('PartialObjectMetadata') });
    const partials = await ask(`${maps}?${one}`, { headers: accept('PartialObjectMetadataList') });
    expect([partial.json, partials.json.items[0]].map(ownersIn)).toEqual([{ creator: all }, { creator: all }]);
    const watch = await ask(`${maps}?watch=1&timeoutSeconds=1&${one}`);
    expect(ownersIn(JSON.parse(watch.text.split('\n')[0]!).object)).toEqual({ creator: all });
    const partialWatch = await ask(`${maps}?watch=1&timeoutSeconds=1&${one}`, { headers: accept('PartialObjectMetadata') });
    expect(ownersIn(JSON.parse(partialWatch.text.split('\n')[0]!).object)).toEqual({ creator: all });
    const yaml = await ask(`${maps}/first`, { headers: { accept: 'application/yaml' } });
    expect(yaml.text).toContain('f:labels:');
    const protobuf = await ask(`${maps}/first`, { headers: { accept: 'application/vnd.kubernetes.protobuf' } });
    expect(protobuf.text).toContain(JSON.stringify(all));
    const events = { headers: { accept: 'application/vnd.kubernetes.protobuf;stream=watch' } };
    const protobufWatch = await ask(`${maps}?watch=1&timeoutSeconds=1&${one}`, events);
    expect(protobufWatch.text).toContain(JSON.stringify(all));
  });

  it('are less by what another manager changes, and by what is removed', async () => {
    await create('shared', { a: '1', b: '1', c: '1' });
    await patch('shared', { data: { b: '2', c: null, d: '2' } }, 'other');
    expect(ownersIn(await read('shared'))).toEqual({
      creator: { 'f:metadata': { 'f:labels': { 'f:app': {} } }, 'f:data': { 'f:a': {} } },
      other: { 'f:data': { 'f:b': {}, 'f:d': {} } },
    });
  });

  it('are not written into the store by a client that sends back what it has read', async () => {
    await create('returned', { a: '1', b: '1' });
    const { json } = await ask(`${maps}/returned`);
    const body = { ...json, data: { ...json.data, b: '2' } };
    const sent = await ask(`${maps}/returned?fieldManager=other`, { method: 'PUT', body });
    expect(ownersIn(sent.json)).toEqual({
      creator: { 'f:metadata': { 'f:labels': { 'f:app': {} } }, 'f:data': { 'f:a': {} } },
      other: { 'f:data': { 'f:b': {} } },
    });
    expect(await kept('returned')).toEqual([
      ['creator', false],
      ['other', true],
    ]);
    const same = await ask(`${maps}/returned?fieldManager=creator`, { method: 'PUT', body: sent.json });
    expect(same.json.metadata.resourceVersion).toBe(sent.json.metadata.resourceVersion);
  });

  it('are those that a client writes', async () => {
    await create('moved', { a: '1', b: '1' });
    const { json } = await ask(`${maps}/moved`);
    const [entry] = json.metadata.managedFields;
    const managedFields = [{ ...entry, fieldsV1: { 'f:data': { 'f:a': {} } } }];
    const sent = await ask(`${maps}/moved`, { method: 'PUT', body: { ...json, metadata: { ...json.metadata, managedFields } } });
    expect(ownersIn(sent.json)).toEqual({ creator: { 'f:data': { 'f:a': {} } } });
    expect(await kept('moved')).toEqual([['creator', true]]);
  });

  it('of a status by its subresource are an entry of their own', async () => {
    const jobs = '/apis/batch/v1/namespaces/default/jobs';
    const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } };
    const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'done' }, spec: { template } };
    const made = (await ask(`${jobs}?fieldManager=creator`, { method: 'POST', body: job })).json;
    const body = { ...made, status: { active: 1 } };
    const { json } = await ask(`${jobs}/done/status?fieldManager=controller`, { method: 'PUT', body });
    expect(ownersIn(json)).toEqual({ ...ownersIn(made), controller: { 'f:status': { 'f:active': {} } } });
    expect(ownersIn(made)).toMatchObject({ creator: { 'f:spec': { 'f:template': { 'f:spec': { 'f:restartPolicy': {} } } } } });
  });

  it('of a custom object are those of its document', async () => {
    const definition = {
      ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: 'toys.example.com' } },
      spec: {
        ...{ group: 'example.com', scope: 'Namespaced', names: { plural: 'toys', singular: 'toy', kind: 'Toy' } },
        versions: [
          {
            ...{ name: 'v1', served: true, storage: true },
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: { spec: { type: 'object', properties: { a: { type: 'string' } } } },
              },
            },
          },
        ],
      },
    };
    await ask('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { method: 'POST', body: definition });
    const toys = '/apis/example.com/v1/namespaces/default/toys';
    await expect.poll(async () => (await ask(toys)).code).toBe(200);
    const toy = { apiVersion: 'example.com/v1', kind: 'Toy', metadata: { name: 'a' }, spec: { a: 'x' } };
    const { json } = await ask(`${toys}?fieldManager=creator`, { method: 'POST', body: toy });
    expect(ownersIn(json)).toEqual({ creator: { 'f:spec': { 'f:a': {} } } });
    expect(ownersIn((await ask(toys)).json.items[0])).toEqual(ownersIn(json));
  });
});

describe('a server-side apply by the manager that the fields of a client-side one were moved to, as kubectl does', () => {
  const note = 'kubectl.kubernetes.io/last-applied-configuration';
  const podSpec = { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] };
  const at = '/api/v1/namespaces/default';
  it.each<[string, string, object]>([
    [
      'a job',
      '/apis/batch/v1/namespaces/default/jobs',
      { apiVersion: 'batch/v1', kind: 'Job', spec: { template: { spec: podSpec } } },
    ],
    ['a pod', `${at}/pods`, { apiVersion: 'v1', kind: 'Pod', spec: podSpec }],
    ['a service', `${at}/services`, { apiVersion: 'v1', kind: 'Service', spec: { type: 'NodePort', ports: [{ port: 80 }] } }],
    [
      'a claim',
      `${at}/persistentvolumeclaims`,
      {
        ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } },
      },
    ],
  ])('leaves what the server wrote into %s', async (_, path, manifest) => {
    const object = { ...manifest, metadata: { name: 'migrated' } };
    const noted = { ...manifest, metadata: { name: 'migrated', annotations: { [note]: JSON.stringify(object) } } };
    await ask('/api/v1/namespaces/default/serviceaccounts', { method: 'POST', body: { metadata: { name: 'default' } } });
    const made = await ask(`${path}?fieldManager=kubectl-client-side-apply`, { method: 'POST', body: noted });
    expect(made.code).toBe(201);
    const [entry] = made.json.metadata.managedFields;
    const value = [{ ...entry, manager: 'kubectl', operation: 'Apply' }];
    const headers = { 'content-type': 'application/json-patch+json' };
    const moved = await ask(`${path}/migrated`, {
      method: 'PATCH',
      body: [{ op: 'replace', path: '/metadata/managedFields', value }],
      headers,
    });
    expect(moved.code).toBe(200);
    for (const _round of [1, 2]) {
      const apply = { 'content-type': 'application/apply-patch+yaml' };
      const { code, json } = await ask(`${path}/migrated?fieldManager=kubectl`, {
        method: 'PATCH',
        body: object,
        headers: apply,
      });
      expect([code, json.spec]).toEqual([200, made.json.spec]);
    }
  });
});
