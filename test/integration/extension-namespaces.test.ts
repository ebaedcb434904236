import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { isNotFound } from '../../api/errors/index.ts';
import { until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { startControllers } from './controllers-harness.ts';
import { type ExtensionWorld, group, startExtension, version } from './extension-server.ts';
import { asks } from './kubernetes-asks.ts';

// Namespaces that hold objects of a group that an extension server serves.
let server: RunningServer;
let world: ExtensionWorld;
let stopControllers: () => Promise<void>;
let serial = 0;
let name: string;

const ask = asks(() => server);
const apiServices = '/apis/apiregistration.k8s.io/v1/apiservices';
const apiService = `${apiServices}/${version}.${group}`;
const root = `/apis/${group}/${version}`;
const merge = { 'content-type': 'application/merge-patch+json' };

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
  world = await startExtension(server);
  const { extension, podUid } = world;
  const metadata = { namespace: 'default', name: 'wardle' };
  await server.client.services.create({ metadata, spec: { ports: [{ name: 'api', port: 443 }] } });
  await server.client.endpointSlices.create({
    metadata: { ...metadata, labels: { 'kubernetes.io/service-name': 'wardle' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.9.9.9'], targetRef: { kind: 'Pod', name: 'wardle', uid: podUid } }],
    ports: [{ name: 'api', port: extension.port }],
  });
  const spec = {
    ...{ group, version, groupPriorityMinimum: 2000, versionPriority: 15 },
    service: { ...metadata, port: 443 },
    caBundle: Buffer.from(extension.ca).toString('base64'),
  };
  const body = { apiVersion: 'apiregistration.k8s.io/v1', kind: 'APIService', metadata: { name: `${version}.${group}` }, spec };
  expect((await ask(apiServices, { method: 'POST', body })).code).toBe(201);
  await isAvailable('True');
  stopControllers = await startControllers(server);
});
afterAll(async () => {
  await stopControllers();
  await world.stop();
});
beforeEach(async () => {
  name = `n${++serial}`;
  await server.client.namespaces.create({ metadata: { name } });
});
afterEach(() => {
  world.extension.answer = undefined;
  world.extension.verbs = ['create', 'delete', 'get', 'list', 'watch'];
});

const isAvailable = (status: string) =>
  until(`available: ${status}`, async () => (await ask(apiService)).json.status?.conditions?.[0]?.status === status);
/** Changes the object, which lets the server be asked again. */
const touch = async () => {
  const { json } = await ask(apiService);
  await ask(apiService, { method: 'PATCH', body: { spec: { versionPriority: json.spec.versionPriority + 1 } }, headers: merge });
};
const flunders = (namespace: string) => `${root}/namespaces/${namespace}/flunders`;
const fill = async (namespace: string, names: readonly string[], finalizers: readonly string[] = []) => {
  for (const each of names) {
    const body = { metadata: { name: each, namespace, finalizers } };
    expect((await ask(flunders(namespace), { method: 'POST', body })).code).toBe(201);
  }
};
const remove = () => server.client.namespaces.delete({ name });
const isGone = () =>
  until('the namespace is gone', () =>
    server.client.namespaces.get({ name }).then(
      () => false,
      (error) => isNotFound(error),
    ),
  );
const saysOf = (type: string, text: string) =>
  until(`${type} says ${text}`, async () => {
    const { status } = await server.client.namespaces.get({ name });
    const found = status?.conditions?.find((each) => each.type === type);
    return found?.status === 'True' && found.message?.includes(text);
  });
const namesIn = async (namespace: string) =>
  (await ask(flunders(namespace))).json.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
const deletions = () => world.extension.requests.filter(({ method }) => method === 'DELETE').map(({ url }) => url);

describe('a namespace that is being deleted', () => {
  it('takes its objects at extension servers with it, those of other namespaces stay', async () => {
    await fill('default', ['kept']);
    await fill(name, ['a', 'b']);
    await remove();
    await isGone();
    expect(deletions()).toEqual(['a', 'b'].map((each) => `${flunders(name)}/${each}?propagationPolicy=Background`));
    expect([await namesIn(name), await namesIn('default')]).toEqual([[], ['kept']]);
  });

  it('has whole collections deleted where the server can do that', async () => {
    world.extension.verbs = ['create', 'delete', 'deletecollection', 'get', 'list'];
    await fill(name, ['a', 'b']);
    await remove();
    await isGone();
    expect(deletions().filter((url) => url.includes(name))).toEqual([`${flunders(name)}?propagationPolicy=Background`]);
    expect(await namesIn(name)).toEqual([]);
  });

  it.each([
    ['are counted', { continue: 'x', remainingItemCount: 4 }, 5],
    ['are not counted', { continue: 'x' }, 2],
  ])('stays while objects there wait for finalizers, and says so, where those of other pages %s', async (_, metadata, count) => {
    world.extension.answer = (request, response) => {
      const list = { kind: 'PartialObjectMetadataList', metadata };
      const items = [{ metadata: { name: 'a', finalizers: ['example.com/slow'] } }];
      const resources = [{ name: 'flunders', singularName: '', namespaced: true, kind: 'Flunder', verbs: ['delete', 'list'] }];
      const isList = request.url?.includes('/namespaces/');
      response.end(JSON.stringify(isList ? { ...list, items } : { kind: 'APIResourceList', resources }));
    };
    await remove();
    await saysOf('NamespaceContentRemaining', `flunders.${group} (${count})`);
    await saysOf('NamespaceFinalizersRemaining', 'example.com/slow (1)');
    world.extension.answer = undefined;
    await isGone();
  });

  it('stays while a server refuses to delete, and says what it said', async () => {
    world.extension.verbs = ['delete', 'deletecollection', 'list'];
    world.extension.answer = (request, response) => {
      if (request.method === 'DELETE') response.writeHead(403).end(JSON.stringify({ kind: 'Status', message: 'not yours' }));
      else {
        const resources = [{ name: 'flunders', namespaced: true, kind: 'Flunder', verbs: ['delete', 'deletecollection'] }];
        response.end(JSON.stringify({ kind: 'APIResourceList', resources }));
      }
    };
    await remove();
    await saysOf('NamespaceDeletionContentFailure', `flunders.${group}: the server answered with the status 403: not yours`);
    world.extension.answer = undefined;
    await isGone();
  });

  it('stays while an extension server does not answer, and goes once its APIService is gone', async () => {
    world.extension.answer = (_, response) => void response.writeHead(500).end();
    await touch();
    await isAvailable('False');
    await remove();
    await saysOf('NamespaceDeletionDiscoveryFailure', `${group}/${version}: its APIService is not available`);
    const { json: kept } = await ask(apiService);
    expect((await ask(apiService, { method: 'DELETE' })).code).toBe(200);
    await isGone();
    world.extension.answer = undefined;
    const { name: own } = kept.metadata;
    const body = { apiVersion: kept.apiVersion, kind: kept.kind, metadata: { name: own }, spec: kept.spec };
    expect((await ask(apiServices, { method: 'POST', body })).code).toBe(201);
    await isAvailable('True');
  });
});

it('a namespace that is not being deleted is not emptied', async () => {
  await fill(name, ['a']);
  await expect(server.client.extensions.emptyNamespace(name)).rejects.toMatchObject({
    code: 'FAILED_PRECONDITION',
    message: `namespace "${name}" is not being deleted: its objects stay`,
  });
  await expect(server.client.extensions.emptyNamespace('missing')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(server.client.extensions.emptyNamespace('')).rejects.toMatchObject({ message: 'name a namespace' });
  expect(await namesIn(name)).toEqual(['a']);
});
