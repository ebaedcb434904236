import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
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

const aggregated = (version: string) => ({
  accept: `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList,application/json`,
});

describe('aggregated discovery', () => {
  it.each(['v2', 'v2beta1'])('in %s has each group with its versions, resources and their parts', async (version) => {
    const { json, headers } = await ask('/apis', aggregated(version));
    expect(json).toMatchObject({ kind: 'APIGroupDiscoveryList', apiVersion: `apidiscovery.k8s.io/${version}` });
    expect(headers['content-type']).toContain(`v=${version};as=APIGroupDiscoveryList`);
    const [apps] = json.items;
    expect(apps.metadata.name).toBe('apps');
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
      .toEqual([expect.objectContaining({ name: 'toys', shortNames: ['ty'] })]);
  });
});

it('events are served in both of their groups', async () => {
  expect((await ask('/apis/events.k8s.io/v1')).json.resources[0]).toMatchObject({ name: 'events', kind: 'Event' });
  const list = (await ask('/apis/events.k8s.io/v1/events')).json;
  expect(list).toMatchObject({ kind: 'EventList', apiVersion: 'events.k8s.io/v1' });
});

it('groups stand in the order in which clients look through them', async () => {
  const names = (await ask('/apis')).json.groups.map(({ name }: { name: string }) => name);
  expect(names.slice(0, 2)).toEqual(['apps', 'events.k8s.io']);
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
