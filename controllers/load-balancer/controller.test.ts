import { expect, it } from 'vitest';
import { conflict, unavailable } from '../../api/errors/index.ts';
import type { Lease, Node, Service } from '../../api/generated/types.ts';
import type { Informer } from '../../client/index.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { parseLoadBalancerPool } from './address-pool.ts';
import { LoadBalancerController } from './controller.ts';

function createWorld(pool = '192.0.2.10-192.0.2.11') {
  const clock = createFakeClock();
  const [services, leases] = [new Map<string, Service>(), new Map<string, Lease>()];
  const world = { shown: Number.POSITIVE_INFINITY, version: 1, fail: [] as (() => Error)[], told: [] as string[] };
  const informer = <T>(objects: Map<string, T>) =>
    ({
      lister: { list: () => [...objects.values()], get: (key: string) => objects.get(key) },
      shows: (version: string) => Number(version) <= world.shown,
    }) as unknown as Informer<T>;
  const write = <T extends Service | Lease>(objects: Map<string, T>, object: T): T => {
    const failure = world.fail.shift();
    if (failure) throw failure();
    const { namespace, name } = object.metadata ?? {};
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(++world.version) } };
    objects.set(`${namespace}/${name}`, stored);
    return stored;
  };
  const controller = new LoadBalancerController({
    client: {
      services: {
        get: async ({ namespace, name }) => services.get(`${namespace}/${name}`) ?? {},
        updateStatus: async (service) => write(services, service),
      },
      leases: {
        create: async (lease) => write(leases, lease),
        update: async (lease) => write(leases, lease),
        delete: async ({ namespace, name }) => {
          leases.delete(`${namespace}/${name}`);
          return {};
        },
      },
    },
    ...{ services: informer(services), leases: informer(leases), nodes: informer(new Map<string, Node>()) },
    events: { event: (about, type, reason, message) => world.told.push(`${about.name} ${type} ${reason}: ${message}`) },
    ...{ pool: parseLoadBalancerPool({ loadBalancerAddresses: pool }), clock },
  });
  const add = (name: string, spec: Service['spec'] = {}) =>
    services.set(`a/${name}`, { metadata: { namespace: 'a', name, uid: name }, spec: { type: 'LoadBalancer', ...spec } });
  const addressOf = (name: string) => services.get(`a/${name}`)?.status?.loadBalancer?.ingress?.[0]?.ip;
  const look = () => controller.reconcile('all', new AbortController().signal);
  return Object.assign(world, { clock, services, leases, add, addressOf, look });
}

it('gives addresses with a Lease each, tells it once, and writes nothing the second time', async () => {
  const world = createWorld();
  world.add('web');
  await world.look();
  expect(world.addressOf('web')).toBe('192.0.2.10');
  expect([...world.leases.keys()]).toEqual(['kube-system/lb-192.0.2.10']);
  const { version } = world;
  await world.look();
  expect(world.version).toBe(version);
  expect(world.told).toEqual(["web Normal IPAllocated: 192.0.2.10 is the service's address"]);
});

it('decides nothing while an informer does not show what was written', async () => {
  const world = createWorld();
  world.shown = 0;
  world.add('web');
  await world.look();
  world.add('later');
  expect(await world.look()).toEqual({ afterMs: 20 });
  expect(world.addressOf('later')).toBeUndefined();
  world.shown = Number.POSITIVE_INFINITY;
  await world.look();
  expect(world.addressOf('later')).toBe('192.0.2.11');
});

it('warns a service that gets none, once', async () => {
  const world = createWorld('');
  world.add('web');
  await world.look();
  await world.look();
  expect(world.told).toEqual([expect.stringMatching(/^web Warning NoPool: .*--load-balancer-addresses/)]);
});

it('repeats a write without an answer, and goes on with others when one is refused', async () => {
  const world = createWorld();
  world.add('web');
  world.fail.push(() => unavailable('away'));
  const looked = world.look();
  await expect.poll(() => world.clock.pending).toBe(1);
  await world.clock.advance(10_000);
  await looked;
  expect(world.addressOf('web')).toBe('192.0.2.10');
  const other = createWorld();
  for (const name of ['a', 'b']) other.add(name);
  other.fail.push(() => conflict({ kind: 'Service', name: 'a' }, 'changed'));
  await expect(other.look()).rejects.toThrow();
  expect([other.addressOf('a'), other.addressOf('b')]).toEqual([undefined, '192.0.2.11']);
});

it('deletes the Lease of a service that is gone when its holder is silent, and not before', async () => {
  const world = createWorld();
  world.add('web');
  await world.look();
  const [key = '', lease = {}] = [...world.leases][0] ?? [];
  world.leases.set(key, { ...lease, spec: { holderIdentity: 'n1' } });
  world.services.clear();
  expect(await world.look()).toEqual({ afterMs: 5_000 });
  expect(world.leases.get(key)?.metadata?.labels).toEqual({});
  await world.look();
  await world.clock.advance(29_000);
  await world.look();
  expect(world.leases.size).toBe(1);
  await world.clock.advance(1_000);
  await world.look();
  expect(world.leases.size).toBe(0);
});
