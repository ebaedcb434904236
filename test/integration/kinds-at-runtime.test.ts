import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { kindId } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { GrowingSet } from '../../api/meta/growing-set.ts';
import { connect } from '../../client/index.ts';
import { namesake, registerToy, toy } from '../conformance/toy-kind.ts';
import { until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { startControllers } from './controllers-harness.ts';

// Kinds that come while server and controllers run: one of a new name, and a namesake of one of Berth's own.
registerToy();
const toys = toy as Kind;
const toyLeases = namesake as Kind;
const toyLeaseId = kindId(toyLeases);
const at = (name: string) => ({ namespace: 'default', name });
let server: RunningServer;
let toyClient: ReturnType<RunningServer['client']['resource']>;

beforeEach(async () => {
  server = await startServer({ backend: 'lmdb' });
  toyClient = server.client.resource(toys);
});
afterEach(async () => {
  await server.stop();
  await server.remove();
});

const lease = (name: string, holderIdentity: string) => ({ metadata: at(name), spec: { holderIdentity } });
const toyLease = (name: string, color: string) => ({
  apiVersion: toyLeases.apiVersion,
  kind: 'Lease',
  metadata: at(name),
  spec: { color },
});

describe('a namesake of another group', () => {
  it('has objects of its own under the same names, in reads, lists, pages and watches', async () => {
    const { leases, objects } = server.client;
    await leases.create(lease('a', 'one'));
    await server.info.addKind(toyLeases);
    const changes = objects.watch(toyLeaseId, { namespace: 'default' }, { signal: AbortSignal.timeout(60_000) });
    for (const name of ['a', 'b', 'c']) await objects.create(toyLeaseId, toyLease(name, 'red'));
    await leases.create(lease('z', 'two'));
    expect((await leases.get(at('a'))).spec).toEqual({ holderIdentity: 'one' });
    expect(await objects.get('Lease', at('a'))).toMatchObject({ spec: { holderIdentity: 'one' } });
    expect(await objects.get(toyLeaseId, at('a'))).toMatchObject({ spec: { color: 'red' } });
    expect((await leases.list({ namespace: 'default' })).items.map(({ metadata }) => metadata?.name)).toEqual(['a', 'z']);
    const page = await objects.list(toyLeaseId, { namespace: 'default', limit: 2 });
    expect(page.items).toHaveLength(2);
    const next = { namespace: 'default', limit: 2, continue: page.metadata.continue ?? '' };
    expect((await objects.list(toyLeaseId, next)).items).toHaveLength(1);
    await expect(objects.list('Lease', next)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    const seen: unknown[] = [];
    for await (const batch of changes) {
      seen.push(...batch.map(({ object }) => (object?.metadata as { name?: string } | undefined)?.name));
      if (seen.length >= 3) break;
    }
    expect(seen).toEqual(['a', 'b', 'c']);
    await objects.delete(toyLeaseId, at('a'));
    expect((await leases.get(at('a'))).spec).toEqual({ holderIdentity: 'one' });
  });

  it('is allowed by roles of its own group alone', async () => {
    await server.info.addKind(toyLeases);
    const { roles, roleBindings, serviceAccounts, leases, objects } = server.client;
    await serviceAccounts.create({ metadata: at('player') });
    const token = await serviceAccounts.createToken(at('player'), {});
    await roles.create({
      metadata: at('toys'),
      rules: [{ verbs: ['*'], apiGroups: ['toys.example.com'], resources: ['leases'] }],
    });
    await roleBindings.create({
      metadata: at('toys'),
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'toys' },
      subjects: [{ kind: 'ServiceAccount', namespace: 'default', name: 'player' }],
    });
    await leases.create(lease('a', 'one'));
    await objects.create(toyLeaseId, toyLease('a', 'red'));
    const player = connect({ address: server.info.address, ca: server.info.ca, token: token.token ?? '' });
    try {
      expect(await player.objects.get(toyLeaseId, at('a'))).toMatchObject({ spec: { color: 'red' } });
      await expect(player.objects.get('Lease', at('a'))).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
      await expect(player.leases.get(at('a'))).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    } finally {
      player.close();
    }
  });

  it('is refused a second time', async () => {
    await server.info.addKind(toyLeases);
    await expect(server.info.addKind(toyLeases)).rejects.toThrow('there is one of that group and name');
    await expect(server.info.addKind({ ...toyLeases, kind: 'Other' })).rejects.toThrow('has the resource leases');
  });
});

it('a kind that comes again after a restart has its objects, and misses no change while it comes', async () => {
  await server.info.addKind(toys);
  const names = Array.from({ length: 700 }, (_, i) => `t${i}`);
  await Promise.all(names.map((name) => toyClient.create({ metadata: at(name), spec: { color: 'red' } } as object)));
  await server.stop();
  server = await startServer({ backend: 'lmdb', dataDir: server.dataDir });
  const { configMaps } = server.client;
  let going = true;
  const others = (async () => {
    for (let i = 0; going; i++) await configMaps.create({ metadata: at(`other-${i}`) });
  })();
  await server.info.addKind(toys);
  toyClient = server.client.resource(toys);
  await toyClient.create({ metadata: at('last'), spec: { color: 'blue' } } as object);
  going = false;
  await others;
  expect((await toyClient.list({ namespace: 'default', labelSelector: '' })).metadata.remainingItemCount ?? 0).toBe(0);
  expect(await server.client.objects.kinds()).toContainEqual(expect.objectContaining({ kind: 'Toy', plural: 'toys' }));
  const all = await toyClient.list({ namespace: 'default' });
  expect(all.items).toHaveLength(701);
}, 60_000);

it('the collector and the end of namespaces reach objects of a kind that came later', async () => {
  const kinds = new GrowingSet<Kind>();
  const stopControllers = await startControllers(server, kinds);
  try {
    await server.info.addKind(toys);
    kinds.add(toys);
    const { configMaps, namespaces } = server.client;
    const owner = await configMaps.create({ metadata: at('owner') });
    const owned = (apiVersion: string, kind: string, name: string, uid = '') => [{ apiVersion, kind, name, uid }];
    const made = await toyClient.create({
      metadata: { ...at('owned'), ownerReferences: owned('v1', 'ConfigMap', 'owner', owner.metadata?.uid) },
      spec: { color: 'red' },
    } as object);
    await configMaps.create({
      metadata: { ...at('below'), ownerReferences: owned(toys.apiVersion, 'Toy', 'owned', made.metadata?.uid) },
    });
    await configMaps.delete(at('owner'));
    const gone = (of: { get(key: object): Promise<unknown> }, name: string) =>
      until(`${name} is gone`, () =>
        of.get(at(name)).then(
          () => false,
          ({ code }) => code === 'NOT_FOUND',
        ),
      );
    await gone(toyClient as never, 'owned');
    await gone(configMaps as never, 'below');
    await namespaces.create({ metadata: { name: 'team' } });
    await toyClient.create({ metadata: { namespace: 'team', name: 't' }, spec: { color: 'red' } } as object);
    await namespaces.delete({ name: 'team' });
    await until('the namespace is gone', () =>
      namespaces.get({ name: 'team' }).then(
        () => false,
        ({ code }) => code === 'NOT_FOUND',
      ),
    );
  } finally {
    await stopControllers();
  }
}, 60_000);
