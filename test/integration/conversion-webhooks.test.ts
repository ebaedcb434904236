import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type Convert, good, handleConversions, place, places } from './conversion-harness.ts';
import { establish } from './custom-kinds-harness.ts';
import { asks } from './kubernetes-asks.ts';
import { patchOf, startWebhooks, type WebhookServer } from './webhook-harness.ts';

// Versions of a custom kind that a webhook converts, over Kubernetes' HTTP API and over gRPC.
let server: RunningServer;
let hooks: WebhookServer;
let hook: ReturnType<typeof handleConversions>;
const ask = asks(() => server);
const definition = 'places.stable.example.com';
const all = (version: string): string => `/apis/stable.example.com/${version}/namespaces/default/places`;
const path = (version: string, name: string): string => `${all(version)}/${name}`;
const [v1, v2] = ['stable.example.com/v1/Place', 'stable.example.com/v2/Place'];
const at = (name: string) => ({ namespace: 'default', name });
const merge = { 'content-type': 'application/merge-patch+json' };

beforeAll(async () => {
  [server, hooks] = await Promise.all([startServer({ kubernetesListen: '127.0.0.1:0' }), startWebhooks()]);
  hook = handleConversions(hooks, '/convert');
  await establish(server, places(hooks.at('/convert')));
});
afterEach(async () => {
  hook.use(good);
  hook.wait(async () => {});
  await server.client.objects.deleteCollection(v2, { namespace: 'default' });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
  hooks.close();
});

/** Makes another version the one that objects are stored in. */
async function storeAs(version: string): Promise<void> {
  const { objects } = server.client;
  const { spec } = (await objects.get('CustomResourceDefinition', { name: definition })) as { spec: { versions: JsonObject[] } };
  const versions = spec.versions.map((each) => ({ ...each, storage: each.name === version }));
  await objects.patch('CustomResourceDefinition', { name: definition }, { spec: { versions } });
  await until('the version is noted', async () => (await storedVersions()).includes(version));
}

async function storedVersions(): Promise<string[]> {
  const { status } = await server.client.objects.get('CustomResourceDefinition', { name: definition });
  return (status as { storedVersions: string[] }).storedVersions;
}

describe('an object of one version', () => {
  it('is written and read in both, and the webhook is asked for the other one only', async () => {
    const made = await ask(all('v1'), { method: 'POST', body: place('v1', 'a', { hostPort: 'localhost:8080' }) });
    expect(made.code).toBe(201);
    expect(made.json).toMatchObject({
      apiVersion: 'stable.example.com/v1',
      kind: 'Place',
      hostPort: 'localhost:8080',
      note: 'none',
    });
    const read = (await ask(path('v2', 'a'))).json;
    expect(read).toMatchObject({ apiVersion: 'stable.example.com/v2', kind: 'Place', host: 'localhost', port: '8080' });
    expect(read).not.toHaveProperty('hostPort');
    expect(read).not.toHaveProperty('storedVersion');
    // Its creator's fields have names in the version that it was created in only.
    const [{ fieldsV1: _, ...entry }] = made.json.metadata.managedFields;
    expect(read.metadata).toEqual({ ...made.json.metadata, managedFields: [entry] });
    const [first] = hook.asked();
    expect(first).toMatchObject({
      desiredAPIVersion: 'stable.example.com/v2',
      objects: [{ apiVersion: 'stable.example.com/v1', kind: 'Place', metadata: { name: 'a', namespace: 'default' } }],
    });
    const before = hook.asked().length;
    expect((await ask(path('v2', 'a'))).code).toBe(200);
    expect(hook.asked()).toHaveLength(before);
  });

  it('is replaced, patched and applied in the version that is not stored', async () => {
    await server.client.objects.create(v2, place('v2', 'b', { host: 'a', port: '1', note: 'kept' }));
    const read = (await ask(path('v1', 'b'))).json;
    const replaced = await ask(path('v1', 'b'), { method: 'PUT', body: { ...read, hostPort: 'b:2' } });
    expect(replaced.json).toMatchObject({ hostPort: 'b:2', note: 'kept', metadata: { generation: 2 } });
    const patched = await ask(path('v1', 'b'), { method: 'PATCH', headers: merge, body: { hostPort: 'c:3' } });
    expect(patched.json).toMatchObject({ hostPort: 'c:3', note: 'kept' });
    const operations = [{ op: 'replace', path: '/hostPort', value: 'd:4' }];
    const json = { 'content-type': 'application/json-patch+json' };
    expect((await ask(path('v1', 'b'), { method: 'PATCH', headers: json, body: operations })).json.hostPort).toBe('d:4');
    const apply = { 'content-type': 'application/apply-patch+yaml' };
    const applied = await ask(`${path('v1', 'b')}?fieldManager=me&force=true`, {
      ...{ method: 'PATCH', headers: apply },
      body: place('v1', 'b', { hostPort: 'e:5' }),
    });
    expect(applied.json).toMatchObject({ apiVersion: 'stable.example.com/v1', hostPort: 'e:5', note: 'kept' });
    expect(await server.client.objects.get(v2, at('b'))).toMatchObject({ host: 'e', port: '5', note: 'kept' });
  });

  it('has its status and scale in both', async () => {
    const { objects } = server.client;
    await objects.create(v1, place('v1', 'c', { hostPort: 'a:1', spec: { replicas: 2 } }));
    const status = await ask(`${path('v1', 'c')}/status`, { method: 'PATCH', headers: merge, body: { status: { replicas: 1 } } });
    expect(status.json).toMatchObject({ hostPort: 'a:1', status: { replicas: 1 } });
    expect((await ask(`${path('v1', 'c')}/scale`)).json).toMatchObject({ spec: { replicas: 2 }, status: { replicas: 1 } });
    const scaled = await ask(`${path('v1', 'c')}/scale`, { method: 'PATCH', headers: merge, body: { spec: { replicas: 5 } } });
    expect(scaled.json.spec).toEqual({ replicas: 5 });
    expect(await objects.get(v2, at('c'))).toMatchObject({ host: 'a', spec: { replicas: 5 }, status: { replicas: 1 } });
  });

  it('that a write leaves as it is, is not written', async () => {
    const { objects } = server.client;
    const made = await objects.create(v1, place('v1', 'd', { hostPort: 'a:1' }));
    expect(await objects.patch(v1, at('d'), { hostPort: 'a:1' })).toEqual(made);
    expect(await objects.delete(v1, at('d'))).toMatchObject({ apiVersion: 'stable.example.com/v1', hostPort: 'a:1' });
  });
});

describe('rules of users that name the other version only', () => {
  const rule = {
    operations: ['CREATE', 'UPDATE'],
    apiGroups: ['stable.example.com'],
    apiVersions: ['v1'],
    resources: ['places'],
  };

  it('let a webhook see, and change, the objects in that version', async () => {
    const { objects } = server.client;
    const asked = { sideEffects: 'None', admissionReviewVersions: ['v1'], rules: [rule] };
    const change = [{ op: 'replace', path: '/hostPort', value: 'changed:2' }];
    hooks.handle('/mutate', () => patchOf(change));
    const webhooks = [{ name: 'places.example.com', clientConfig: hooks.at('/mutate'), ...asked }];
    await objects.create('MutatingWebhookConfiguration', { metadata: { name: 'places' }, webhooks });
    const made = await objects.create(v2, place('v2', 'hooked', { host: 'a', port: '1' }));
    const updated = await objects.patch(v2, at('hooked'), { host: 'b' });
    await objects.delete('MutatingWebhookConfiguration', { name: 'places' });
    for (const each of [made, updated]) expect(each).toMatchObject({ host: 'changed', port: '2' });
    expect(made).not.toHaveProperty('hostPort');
    const [first, second] = hooks.asked('/mutate');
    expect(first).toMatchObject({
      kind: { version: 'v1' },
      requestKind: { version: 'v2' },
      object: { apiVersion: 'stable.example.com/v1', hostPort: 'a:1' },
    });
    expect(second).toMatchObject({ object: { hostPort: 'b:2' }, oldObject: { hostPort: 'changed:2' } });
  });

  it('let a policy judge them in that version', async () => {
    const { objects } = server.client;
    const validations = [{ expression: "object.hostPort != 'bad:1'", message: 'the rule is broken' }];
    const spec = { matchConstraints: { resourceRules: [rule] }, validations };
    await objects.create('ValidatingAdmissionPolicy', { metadata: { name: 'places' }, spec });
    const bound = { policyName: 'places', validationActions: ['Deny'] };
    await objects.create('ValidatingAdmissionPolicyBinding', { metadata: { name: 'places' }, spec: bound });
    await objects.create(v2, place('v2', 'judged', { host: 'good', port: '1' }));
    const refused = objects.create(v2, place('v2', 'refused', { host: 'bad', port: '1' }));
    await expect(refused).rejects.toThrow('the rule is broken');
    await objects.delete('ValidatingAdmissionPolicyBinding', { name: 'places' });
    await objects.delete('ValidatingAdmissionPolicy', { name: 'places' });
  });
});

describe('a policy whose objects the webhook does not convert', () => {
  it.each(['Fail', 'Ignore'])('decides by its failurePolicy %s, and asks for it once with another', async (failurePolicy) => {
    const { objects } = server.client;
    const resourceRules = [
      { operations: ['CREATE'], apiGroups: ['stable.example.com'], apiVersions: ['v1'], resources: ['places'] },
    ];
    for (const name of ['one', 'two']) {
      const spec = { failurePolicy, matchConstraints: { resourceRules }, validations: [{ expression: 'true' }] };
      await objects.create('ValidatingAdmissionPolicy', { metadata: { name }, spec });
      const bound = { policyName: name, validationActions: ['Deny'] };
      await objects.create('ValidatingAdmissionPolicyBinding', { metadata: { name }, spec: bound });
    }
    hook.use(({ uid }) => ({ uid, result: { status: 'Failure', message: 'no room' } }));
    const before = hook.asked().length;
    const created = objects.create(v2, place('v2', 'unseen', { host: 'a', port: '1' })).catch((error: Error) => error.message);
    if (failurePolicy === 'Ignore') expect(await created).toMatchObject({ host: 'a' });
    else
      expect(await created).toContain(
        'denied request: failed to configure binding: failed to convert object version: conversion webhook for stable.example.com/v2',
      );
    expect(hook.asked().length - before).toBe(1);
    for (const name of ['one', 'two']) {
      await objects.delete('ValidatingAdmissionPolicyBinding', { name });
      await objects.delete('ValidatingAdmissionPolicy', { name });
    }
  });
});

describe('objects of several stored versions', () => {
  it('are listed, selected and watched in one, and the definition says which are stored', async () => {
    const { objects } = server.client;
    await objects.create(v2, place('v2', 'new', { host: 'n', port: '2' }));
    await storeAs('v1');
    await objects.create(v1, place('v1', 'old', { hostPort: 'o:1' }));
    expect((await storedVersions()).sort()).toEqual(['v1', 'v2']);
    const before = hook.asked().length;
    const inV1 = (await ask(all('v1'))).json.items;
    expect(inV1.map(({ hostPort }: JsonObject) => hostPort)).toEqual(['n:2', 'o:1']);
    expect(hook.asked().slice(before)).toMatchObject([{ desiredAPIVersion: 'stable.example.com/v1', objects: [{ host: 'n' }] }]);
    const inV2 = (await ask(all('v2'))).json.items;
    expect(inV2.map(({ host, port }: JsonObject) => `${host} ${port}`)).toEqual(['n 2', 'o 1']);
    const selected = (await ask(`${all('v2')}?fieldSelector=host%3Do`)).json.items;
    expect(selected.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toEqual(['old']);
    await storeAs('v2');
  });

  it('are written in the stored version by a write that changes nothing else', async () => {
    const { objects } = server.client;
    const made = await objects.create(v1, place('v1', 'e', { hostPort: 'a:1' }));
    const versionOf = ({ metadata }: JsonObject): string => (metadata as { resourceVersion: string }).resourceVersion;
    await storeAs('v1');
    const moved = await objects.patch(v1, at('e'), {});
    expect(versionOf(moved)).not.toBe(versionOf(made));
    const again = await objects.patch(v1, at('e'), {});
    expect(versionOf(again)).toBe(versionOf(moved));
    await storeAs('v2');
  });
});

it('a list of many is converted in batches', async () => {
  const { objects } = server.client;
  const names = Array.from({ length: 150 }, (_, i) => `m${String(i).padStart(3, '0')}`);
  for (const name of names) await objects.create(v2, place('v2', name, { host: name, port: '1' }));
  const before = hook.asked().length;
  const { items } = await objects.list(v1, { namespace: 'default' });
  expect(items.map(({ hostPort }) => hostPort)).toEqual(names.map((name) => `${name}:1`));
  expect(
    hook
      .asked()
      .slice(before)
      .map((request) => request.objects.length),
  ).toEqual([100, 50]);
});

describe('watches of a version that is not stored', () => {
  /** What a watch tells within a second. */
  const see = async (query: string): Promise<string[]> => {
    const { text } = await ask(`${all('v1')}?watch=true&timeoutSeconds=1&${query}`);
    const events = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; object: JsonObject });
    return events.map(({ type, object }) => `${type} ${object.hostPort ?? object.message}`);
  };
  const now = async (): Promise<string> => (await ask(all('v2'))).json.metadata.resourceVersion;

  it('get each event converted once for all of them', async () => {
    const { objects } = server.client;
    await objects.create(v2, place('v2', 'w', { host: 'w', port: '1' }));
    const resourceVersion = await now();
    const before = hook.asked().length;
    const watches = [see(`resourceVersion=${resourceVersion}`), see(`resourceVersion=${resourceVersion}`)];
    await objects.patch(v2, at('w'), { port: '2' });
    await objects.patch(v2, at('w'), { port: '3' });
    await objects.delete(v2, at('w'));
    const expected = ['MODIFIED w:2', 'MODIFIED w:3', 'DELETED w:3'];
    expect(await Promise.all(watches)).toEqual([expected, expected]);
    const sent = hook
      .asked()
      .slice(before)
      .flatMap((request) => request.objects.map(({ port }) => port));
    expect(sent.sort()).toEqual(['2', '3', '3']);
  });

  it('begin with the present objects, and see them come and go by a field of that version', async () => {
    const { objects } = server.client;
    const resourceVersion = await now();
    await objects.create(v2, place('v2', 'x', { host: 'y', port: '1' }));
    await objects.patch(v2, at('x'), { host: 'x' });
    await objects.patch(v2, at('x'), { host: 'z' });
    expect(await see(`resourceVersion=${resourceVersion}&fieldSelector=hostPort%3Dx:1`)).toEqual(['ADDED x:1', 'DELETED x:1']);
    expect(await see('fieldSelector=hostPort%3Dz:1')).toEqual(['ADDED z:1']);
  });

  it('end with the failure of the webhook, and lose nothing', async () => {
    const { objects } = server.client;
    hook.use(({ uid }) => ({ uid, result: { status: 'Failure', message: 'not today' } }));
    await objects.create(v2, place('v2', 'f', { host: 'a', port: '1' }));
    expect(await see('')).toEqual([expect.stringContaining('not today')]);
    hook.use(good);
    expect(await see('')).toEqual(['ADDED a:1']);
  });
});

describe('a webhook', () => {
  const failed = 'conversion webhook for stable.example.com/v2, Kind=Place failed: ';
  const invalid = 'conversion webhook for stable.example.com/v2, Kind=Place returned invalid object at index 0: ';
  const changed =
    (change: (object: JsonObject) => unknown): Convert =>
    (request) => {
      const answer = good(request);
      const [first] = answer.convertedObjects as JsonObject[];
      change(first!);
      return answer;
    };
  const metadataOf = (object: JsonObject) => object.metadata as JsonObject;

  it.each<[string, Convert, string]>([
    ['that fails', ({ uid }) => ({ uid, result: { status: 'Failure', message: 'no room' } }), `${failed}no room`],
    ['without a result', ({ uid }) => ({ uid }), `${failed}response.result.status was '', not 'Success'`],
    ['of another request', (request) => ({ ...good(request), uid: 'x' }), `${failed}expected response.uid=`],
    [
      'that answers too little',
      (request) => ({ ...good(request), convertedObjects: [] }),
      'conversion webhook for stable.example.com/v2, Kind=Place returned 0 objects, expected 1',
    ],
    [
      'of another version',
      changed((object) => Object.assign(object, { apiVersion: 'stable.example.com/v3' })),
      `${invalid}invalid groupVersion (expected stable.example.com/v1, received stable.example.com/v3)`,
    ],
    ['of another kind', changed((object) => Object.assign(object, { kind: 'Other' })), `${invalid}invalid kind`],
    ['without metadata', changed((object) => delete object.metadata), `${invalid}missing metadata`],
    [
      'that renames',
      changed((object) => Object.assign(metadataOf(object), { name: 'other' })),
      `${invalid}must have the same name: l != other`,
    ],
    [
      'of another namespace',
      changed((object) => Object.assign(metadataOf(object), { namespace: 'kube-system' })),
      `${invalid}must have the same namespace: default != kube-system`,
    ],
    ['of another uid', changed((object) => Object.assign(metadataOf(object), { uid: 'x' })), `${invalid}must have the same UID`],
    [
      'with labels that are none',
      changed((object) => Object.assign(metadataOf(object), { labels: { 'a b': 'c' } })),
      `${invalid}metadata.labels[a b]`,
    ],
    [
      'with a label that is no text',
      changed((object) => Object.assign(metadataOf(object), { labels: { a: 1 } })),
      `${invalid}metadata.labels[a] must be a string, but is number`,
    ],
    [
      'with a number that would lose digits',
      changed((object) => Object.assign(object, { replicas: 2 ** 53 })),
      `${invalid}replicas: Invalid value: 9007199254740992: must be within ±(2^53-1)`,
    ],
    ['that is huge', (request) => ({ ...good(request), more: 'x'.repeat(9_000_000) }), `${failed}the answer has more than`],
  ])('%s is named with what it did, and the object stays', async (_title, convert, why) => {
    await server.client.objects.create(v2, place('v2', 'l', { host: 'a', port: '1' }));
    hook.use(convert);
    const read = await ask(path('v1', 'l'));
    expect(read.code).toBe(500);
    expect(read.json).toMatchObject({ reason: 'InternalError', message: expect.stringContaining(why) });
    expect((await ask(all('v1'))).code).toBe(500);
    expect((await ask(path('v1', 'l'), { method: 'PATCH', headers: merge, body: { hostPort: 'b:2' } })).code).toBe(500);
    expect(await server.client.objects.get(v2, at('l'))).toMatchObject({ host: 'a', port: '1' });
  });

  it('may change labels and annotations, and nothing else of the metadata', async () => {
    await server.client.objects.create(v2, place('v2', 'k', { host: 'a', port: '1' }));
    hook.use(
      changed((object) => {
        const metadata = metadataOf(object);
        const { name, namespace, uid } = metadata;
        object.metadata = {
          name,
          namespace,
          uid,
          labels: { a: 'b' },
          generation: 99,
          finalizers: ['x.example.com/y'],
        } as JsonObject;
      }),
    );
    const { metadata } = (await ask(path('v1', 'k'))).json;
    expect(metadata).toMatchObject({ labels: { a: 'b' }, generation: 1 });
    expect(metadata.resourceVersion).toMatch(/^\d+$/);
    expect(metadata).not.toHaveProperty('finalizers');
    expect((await ask(`${all('v1')}?labelSelector=a%3Db`)).json.items).toHaveLength(1);
  });

  it('that is slow keeps its own requests waiting, and no others', async () => {
    const { objects } = server.client;
    await objects.create(v2, place('v2', 's', { host: 'a', port: '1' }));
    let go = (): void => {};
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    hook.wait(() => held);
    const before = hook.asked().length;
    const slow = ask(path('v1', 's'));
    const write = objects.patch(v1, at('s'), { note: 'late' });
    await until('it is asked', async () => hook.asked().length > before);
    expect(await objects.patch(v2, at('s'), { host: 'b' })).toMatchObject({ host: 'b' });
    go();
    expect((await slow).code).toBe(200);
    expect(await write).toMatchObject({ hostPort: 'b:1', note: 'late' });
  });

  it('that cannot be reached is named, and reads of the stored version go on', async () => {
    const { objects } = server.client;
    await objects.create(v2, place('v2', 'r', { host: 'a', port: '1' }));
    const clientConfig = { url: 'https://127.0.0.1:1/convert' };
    await objects.patch(
      'CustomResourceDefinition',
      { name: definition },
      { spec: { conversion: { webhook: { clientConfig } } } },
    );
    await until('it is refused', async () => (await ask(path('v1', 'r'))).code === 500);
    expect((await ask(path('v1', 'r'))).json.message).toContain(
      `${failed}Post "https://127.0.0.1:1/convert?timeout=30s": connect ECONNREFUSED`,
    );
    expect((await ask(path('v2', 'r'))).code).toBe(200);
    const conversion = { webhook: { clientConfig: hooks.at('/convert') } };
    await objects.patch('CustomResourceDefinition', { name: definition }, { spec: { conversion } });
    await until('it is asked again', async () => (await ask(path('v1', 'r'))).code === 200);
  });
});

it('a definition whose webhook is gone is deleted with its objects', async () => {
  const { objects } = server.client;
  const other = places({ url: 'https://127.0.0.1:1/convert' }, 'v2', {
    ...{ group: 'gone.example.com', names: { plural: 'places', kind: 'Place' } },
  });
  const name = 'places.gone.example.com';
  await establish(server, { ...other, metadata: { name } });
  const metadata = { name: 'kept', namespace: 'default' };
  await objects.create('gone.example.com/v2/Place', { metadata, host: 'a' });
  const versions = ((other.spec as JsonObject).versions as JsonObject[]).map((each) => ({
    ...each,
    storage: each.name === 'v1',
  }));
  await objects.patch('CustomResourceDefinition', { name }, { spec: { versions } });
  await objects.delete('CustomResourceDefinition', { name });
  await until('it is gone', () =>
    objects.get('CustomResourceDefinition', { name }).then(
      () => false,
      () => true,
    ),
  );
});
