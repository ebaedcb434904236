import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningServer, startServer } from './apiserver-harness.ts';

// What clients learn of the API before they use it: discovery, health, the version.
let server: RunningServer;

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

type Headers = Readonly<Record<string, string>>;

async function ask(path: string, headers: Headers = {}, more: { method?: string; body?: object; anonymous?: true } = {}) {
  const [host, port] = server.info.kubernetes!.split(':');
  const { ca, cert, key } = server.admin;
  const { method = 'GET', body, anonymous } = more;
  const type = body ? { 'content-type': 'application/json' } : {};
  const options = { host, port, path, method, ca, agent: false, headers: { ...type, ...headers } };
  const call = request({ ...options, ...(anonymous ? {} : { cert, key }) });
  call.end(body && JSON.stringify(body));
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  const bytes = Buffer.concat(pieces);
  const text = bytes.toString('utf8');
  // biome-ignore lint/suspicious/noExplicitAny: the JSON of any answer
  const json: any = response.headers['content-type']?.startsWith('application/json') && text ? JSON.parse(text) : undefined;
  return { code: response.statusCode, headers: response.headers, bytes, text, json };
}

/** As the documented field of Kubernetes' discovery: the first 8 bytes of the SHA-256 of group, version and kind. */
const hashOf = (stored: string): string => createHash('sha256').update(stored).digest().subarray(0, 8).toString('base64');

const aggregated = (version: string) => ({
  accept: `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList,application/json`,
});

describe('aggregated discovery', () => {
  it.each(['v2', 'v2beta1'])('in %s has each group with its versions, resources and their parts', async (version) => {
    const { json, headers } = await ask('/apis', aggregated(version));
    expect(json).toMatchObject({ kind: 'APIGroupDiscoveryList', apiVersion: `apidiscovery.k8s.io/${version}` });
    expect(headers['content-type']).toContain(`v=${version};as=APIGroupDiscoveryList`);
    const [first, apps] = json.items;
    expect([first, apps].map(({ metadata }) => metadata.name)).toEqual(['apiregistration.k8s.io', 'apps']);
    const of = (name: string) => apps.versions[0].resources.find(({ resource }: { resource: string }) => resource === name);
    expect(of('deployments')).toMatchObject({
      responseKind: { group: 'apps', version: 'v1', kind: 'Deployment' },
      scope: 'Namespaced',
      shortNames: ['deploy'],
      subresources: expect.arrayContaining([
        { subresource: 'scale', responseKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' }, verbs: expect.anything() },
      ]),
    });
  });

  it('is not sent again to a client that has it', async () => {
    const { headers } = await ask('/api', aggregated('v2'));
    const again = await ask('/api', { ...aggregated('v2'), 'if-none-match': headers.etag! });
    expect([again.code, again.text]).toEqual([304, '']);
  });

  it('has a kind that a definition adds, with the next read', async () => {
    const names = { plural: 'toys', singular: 'toy', kind: 'Toy', listKind: 'ToyList', shortNames: ['ty'] };
    const openAPIV3Schema = {
      type: 'object',
      properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } },
    };
    const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }];
    const body = {
      ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: 'toys.toys.example.com' } },
      spec: { group: 'toys.example.com', scope: 'Namespaced', names, versions },
    };
    const made = await ask('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {}, { method: 'POST', body });
    expect(made.code).toBe(201);
    await expect
      .poll(async () => (await ask('/apis/toys.example.com/v1')).json?.resources)
      .toEqual([
        expect.objectContaining({ name: 'toys', shortNames: ['ty'], storageVersionHash: hashOf('toys.example.com/v1/Toy') }),
      ]);
  });
});

describe('the hash of the stored version', () => {
  const hashes = async (path: string) =>
    (await ask(path)).json.resources.map((each: { storageVersionHash?: string }) => each.storageVersionHash);

  it('is the same in each version of a kind, and that of no subresource', async () => {
    const stored = hashOf('autoscaling/v2/HorizontalPodAutoscaler');
    for (const version of ['v1', 'v2']) expect(await hashes(`/apis/autoscaling/${version}`)).toEqual([stored, undefined]);
  });

  it('of a custom kind is that of its stored version, and the new one when that changes', async () => {
    const names = { plural: 'plans', singular: 'plan', kind: 'Plan', listKind: 'PlanList' };
    const schema = { openAPIV3Schema: { type: 'object' } };
    const versions = (stored: string) => ['v1', 'v2'].map((name) => ({ name, served: true, storage: name === stored, schema }));
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const body = {
      ...{
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: 'plans.hash.example.com' },
      },
      spec: { group: 'hash.example.com', scope: 'Namespaced', names, versions: versions('v1') },
    };
    expect((await ask(path, {}, { method: 'POST', body })).code).toBe(201);
    const bothAre = async (version: string) => {
      for (const each of ['v1', 'v2'])
        await expect
          .poll(async () => (await ask(`/apis/hash.example.com/${each}`)).json?.resources?.[0]?.storageVersionHash)
          .toBe(hashOf(`hash.example.com/${version}/Plan`));
    };
    await bothAre('v1');
    const change = { method: 'PATCH', body: { spec: { versions: versions('v2') } } };
    const changed = await ask(`${path}/plans.hash.example.com`, { 'content-type': 'application/merge-patch+json' }, change);
    expect(changed.code).toBe(200);
    await bothAre('v2');
  });
});

it('events are served in both of their groups', async () => {
  expect((await ask('/apis/events.k8s.io/v1')).json.resources[0]).toMatchObject({ name: 'events', kind: 'Event' });
  const list = (await ask('/apis/events.k8s.io/v1/events')).json;
  expect(list).toMatchObject({ kind: 'EventList', apiVersion: 'events.k8s.io/v1' });
});

it('groups stand in the order in which clients look through them', async () => {
  const names = (await ask('/apis')).json.groups.map(({ name }: { name: string }) => name);
  expect(names.slice(0, 3)).toEqual(['apiregistration.k8s.io', 'apps', 'events.k8s.io']);
  expect(names.indexOf('batch')).toBeLessThan(names.indexOf('storage.k8s.io'));
});

describe('a path that is no resource', () => {
  it.each(['/apis/nothing.example.com', '/apis/apps/v9', '/nothing'])('%s is not found', async (path) => {
    expect(await ask(path)).toMatchObject({ code: 404, text: '404 page not found\n' });
  });

  it('is hidden from users who may not read it', async () => {
    expect((await ask('/nothing', { 'impersonate-user': 'bob' })).code).toBe(403);
    const headers = { 'impersonate-user': 'bob', 'impersonate-group': 'system:authenticated' };
    expect((await ask('/apis/apps/v1', headers)).code).toBe(200);
  });

  it('is answered to HEAD without its body, and to nothing that writes', async () => {
    const head = await ask('/version', {}, { method: 'HEAD' });
    expect([head.code, head.text]).toEqual([200, '']);
    expect((await ask('/apis', {}, { method: 'POST', body: {} })).code).toBe(405);
  });

  it('is listed by /', async () => {
    expect((await ask('/')).json.paths).toEqual(expect.arrayContaining(['/api/v1', '/apis/apps/v1', '/version']));
  });
});

describe('OpenAPI', () => {
  const gnostic = { accept: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf' };

  it('v2 has a definition and a patch with dryRun for each kind', async () => {
    const { json } = await ask('/openapi/v2');
    expect(json.definitions['io.k8s.api.core.v1.Pod']['x-kubernetes-group-version-kind']).toEqual([
      { group: '', version: 'v1', kind: 'Pod' },
    ]);
    const { patch } = json.paths['/apis/apps/v1/namespaces/{namespace}/deployments/{name}'];
    expect(patch).toMatchObject({
      'x-kubernetes-action': 'patch',
      'x-kubernetes-group-version-kind': { group: 'apps', version: 'v1', kind: 'Deployment' },
    });
    const names = patch.parameters.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(['dryRun', 'fieldValidation', 'fieldManager', 'force']));
    const refs = JSON.stringify(json).matchAll(/"#\/definitions\/([^"]+)"/g);
    expect([...refs].filter(([, name]) => !json.definitions[name!])).toEqual([]);
  });

  it('v2 comes as protobuf, compressed, and not again', async () => {
    const whole = await ask('/openapi/v2', gnostic);
    expect(whole.headers['content-type']).toBe('application/com.github.proto-openapi.spec.v2.v1.0+protobuf');
    const small = await ask('/openapi/v2', { ...gnostic, 'accept-encoding': 'gzip' });
    expect(small.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(small.bytes).equals(whole.bytes)).toBe(true);
    expect((await ask('/openapi/v2', { ...gnostic, 'if-none-match': whole.headers.etag! })).code).toBe(304);
  });

  it('v3 has an index of documents by group, each at an address of its own', async () => {
    const { paths } = (await ask('/openapi/v3')).json;
    const address: string = paths['apis/apps/v1'].serverRelativeURL;
    expect(address).toMatch(/^\/openapi\/v3\/apis\/apps\/v1\?hash=[0-9A-F]{64}$/);
    const { json, headers } = await ask(address);
    expect(headers['cache-control']).toBe('public, immutable');
    const { Deployment } = Object.fromEntries(
      Object.entries(json.components.schemas).map(([name, schema]) => [name.split('.').at(-1)!, schema]),
    ) as Record<string, object>;
    expect(Deployment).toMatchObject({ properties: { spec: { allOf: [{ $ref: expect.stringContaining('DeploymentSpec') }] } } });
    const refs = JSON.stringify(json).matchAll(/"#\/components\/schemas\/([^"]+)"/g);
    expect([...refs].filter(([, name]) => !json.components.schemas[name!])).toEqual([]);
    const old = await ask('/openapi/v3/apis/apps/v1?hash=ABC');
    expect([old.code, old.headers.location]).toEqual([301, address]);
    expect((await ask('/openapi/v3/apis/nothing/v1')).code).toBe(404);
  });

  it('has the schema of a kind that a definition adds, and another hash', async () => {
    const { json } = await ask('/openapi/v3/apis/toys.example.com/v1');
    expect(json.components.schemas['com.example.toys.v1.Toy']).toMatchObject({
      properties: { spec: { properties: { size: { type: 'integer' } } }, metadata: { allOf: expect.anything() } },
      'x-kubernetes-group-version-kind': [{ group: 'toys.example.com', version: 'v1', kind: 'Toy' }],
    });
  });

  it('is refused in a form that it does not have', async () => {
    expect((await ask('/openapi/v2', { accept: 'text/html' })).code).toBe(406);
    expect((await ask('/openapi/v3/api/v1', gnostic)).code).toBe(406);
  });
});

it('/metrics is what Prometheus reads, with credentials alone', async () => {
  const { code, headers, text } = await ask('/metrics');
  expect({ code, type: headers['content-type'] }).toEqual({ code: 200, type: expect.stringMatching(/^text\/plain; version=0/) });
  expect(text).toMatch(/^# TYPE berth_\w+ counter$/m);
  const open = await ask('/metrics', { accept: 'application/openmetrics-text;version=1.0.0,text/plain;q=0.5' });
  expect(open.headers['content-type']).toContain('application/openmetrics-text');
  expect(open.text).toMatch(/\n# EOF\n$/);
  expect((await ask('/metrics', {}, { anonymous: true })).code).toBe(401);
  expect((await ask('/metrics', { 'impersonate-user': 'eve' })).code).toBe(403);
  const watcher = { 'impersonate-user': 'prometheus', 'impersonate-group': 'system:monitoring' };
  expect((await ask('/metrics', watcher)).code).toBe(200);
});

describe('without credentials', () => {
  it.each([
    ['/livez?verbose', 200, '[+]ping ok\n[+]storage ok\nlivez check passed\n'],
    ['/readyz/ping', 200, 'ok'],
    ['/livez/etcd', 200, 'ok'],
    ['/healthz?exclude=etcd&verbose', 200, '[+]ping ok\nhealthz check passed\n'],
    ['/livez/nothing', 404, '404 page not found\n'],
  ])('%s is answered', async (path, code, text) => {
    expect(await ask(path, {}, { anonymous: true })).toMatchObject({ code, text });
  });

  it('the version is one that charts accept', async () => {
    const { json } = await ask('/version', {}, { anonymous: true });
    expect(json).toMatchObject({ major: '1', minor: '33', gitVersion: expect.stringMatching(/^v1\.33\.0\+berth\.[\d.]+$/) });
  });
});
