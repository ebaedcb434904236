import { expect, it, onTestFinished } from 'vitest';
import { conflict, unavailable } from '../../api/errors/index.ts';
import type { Lease } from '../../api/generated/types.ts';
import { leaseNameOf } from '../../api/meta/load-balancers.ts';
import { createIndexer } from '../../client/informer/indexer.ts';
import type { InformerHandler } from '../../client/informer/informer.ts';
import { endpoint, port, tableService } from '../../test/builders/table-service.ts';
import { createFakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { Announcer } from './announcer.ts';

const address = '192.0.2.1';
const balanced = tableService('10.43.0.1', [port(80, [endpoint('10.42.0.1', 80, { node: 'n1' })])], {
  loadBalancerAddresses: [address],
});

/** A server that keeps Leases, and the links of the nodes n1 and n2. */
function createWorld() {
  const [clock, logger] = [createFakeClock(), createFakeLogger()];
  const stored = createIndexer<Lease>({});
  const handlers = new Set<InformerHandler<Lease>>();
  const world = { version: 0, answerMs: 0, fail: undefined as (() => Error) | undefined, log: [] as string[] };
  const show = (lease: Lease): Lease => {
    const { namespace, name } = lease.metadata ?? {};
    const old = stored.get(`${namespace}/${name}`);
    const next = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(++world.version) } };
    stored.set(next);
    for (const each of [...handlers]) old ? each.onUpdate?.(next, old) : each.onAdd?.(next);
    return next;
  };
  const update = async (lease: Lease): Promise<Lease> => {
    if (world.answerMs > 0) await new Promise<void>((resolve) => clock.after(world.answerMs, resolve));
    if (world.fail) throw world.fail();
    const known = stored.get(`${lease.metadata?.namespace}/${lease.metadata?.name}`);
    if (known?.metadata?.resourceVersion !== lease.metadata?.resourceVersion)
      throw conflict({ kind: 'Lease', name: lease.metadata?.name ?? '' }, 'changed');
    return show(lease);
  };
  const lease = (spec: Lease['spec'] = {}) =>
    show({ metadata: { namespace: 'kube-system', name: leaseNameOf(address), uid: 'u' }, spec });
  const holder = () => stored.get(`kube-system/${leaseNameOf(address)}`)?.spec?.holderIdentity;
  const startNode = (nodeName: string, ...known: string[]) => {
    const ending = new AbortController();
    const up = new Set(known);
    const announcer = new Announcer({
      ...{ nodeName, nodes: () => ['n1', 'n2'], clock, logger, now: () => clock.now() },
      client: { update: (each) => update(each), get: async () => ({}) },
      leases: {
        lister: stored,
        addHandler: (handler) => {
          handlers.add(handler);
          for (const each of stored.list()) handler.onAdd?.(each);
          return () => void handlers.delete(handler);
        },
      },
      addresses: {
        known: up,
        hold: async (all, seconds) => {
          for (const each of all) up.add(each);
          world.log.push(`${nodeName} holds ${all.join()} for ${seconds}`);
        },
        drop: async (all) => {
          for (const each of all) up.delete(each);
          world.log.push(`${nodeName} drops ${all.join()}`);
        },
      },
      announce: async (all) => void world.log.push(`${nodeName} announces ${all.join()}`),
    });
    announcer.set('a/web', balanced);
    const ended = announcer.run(ending.signal);
    const end = async () => {
      ending.abort();
      await ended;
    };
    onTestFinished(async () => {
      world.answerMs = 0;
      await end();
    });
    return { announcer, up, end };
  };
  /** In small steps: each of them may begin the next. */
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 50) {
      await clock.advance(Math.min(50, left));
      await settle();
    }
  };
  const taken = () => world.log.splice(0);
  return Object.assign(world, { clock, logger, lease, holder, startNode, pass, taken, stored });
}

it('takes a new Lease when it is silent for its duration, and then tells the link twice', async () => {
  const world = createWorld();
  world.lease();
  world.startNode('n1');
  await world.pass(3_900);
  expect(world.taken()).toEqual([]);
  await world.pass(600);
  expect([world.holder(), world.taken()]).toEqual(['n1', [`n1 holds ${address} for 2`, `n1 announces ${address}`]]);
  await world.pass(2_000);
  expect(world.taken().toSorted()).toEqual([`n1 announces ${address}`, ...Array(2).fill(`n1 holds ${address} for 2`)]);
  expect(world.stored.list()[0]?.spec).toMatchObject({ leaseDurationSeconds: 4, leaseTransitions: 1 });
});

it('goes on with what an agent before it held, at once', async () => {
  const world = createWorld();
  world.lease({ holderIdentity: 'n1', leaseTransitions: 3, leaseDurationSeconds: 16 });
  world.startNode('n1', address);
  await world.pass(50);
  expect(world.taken()).toEqual([`n1 holds ${address} for 2`]);
  expect(world.stored.list()[0]?.spec).toMatchObject({ leaseDurationSeconds: 4, leaseTransitions: 3 });
});

it('takes a Lease of another node whose duration is longer than any may be when the longest has passed', async () => {
  const world = createWorld();
  world.lease({ holderIdentity: 'n2', leaseTransitions: 1, leaseDurationSeconds: 1_000_000 });
  world.startNode('n1');
  await world.pass(15_900);
  expect(world.holder()).toBe('n2');
  await world.pass(800);
  expect(world.holder()).toBe('n1');
});

it('only one of two nodes has the address at any time, and the other takes it within 5 s when that one ends', async () => {
  const world = createWorld();
  world.lease({ leaseTransitions: 1 });
  const nodes = [world.startNode('n1'), world.startNode('n2')];
  await world.pass(1_000);
  expect(nodes.filter(({ up }) => up.has(address))).toHaveLength(1);
  const first = world.holder();
  const other = first === 'n1' ? 'n2' : 'n1';
  // As the death of its host: it renews no more, and nothing is said.
  const lost = nodes[first === 'n1' ? 0 : 1];
  lost?.announcer.set('a/web', undefined);
  world.fail = () => unavailable('away');
  await lost?.end();
  world.fail = undefined;
  const at = world.clock.now();
  while (world.holder() !== other && world.clock.now() - at < 10_000) await world.pass(50);
  expect(world.clock.now() - at).toBeLessThan(5_000);
});

it.each([
  ['is refused an answer', { fail: () => unavailable('away') }],
  ['is answered too late', { answerMs: 900 }],
])('drops the address when its renewal %s, before another could take it', async (_, trouble) => {
  const world = createWorld();
  world.lease({ leaseTransitions: 1 });
  const { up } = world.startNode('n1');
  await world.pass(1_000);
  expect(up.has(address)).toBe(true);
  await world.pass(550);
  world.taken();
  Object.assign(world, trouble);
  const at = world.clock.now();
  while (up.has(address) && world.clock.now() - at < 10_000) await world.pass(50);
  expect(world.clock.now() - at).toBeLessThan(4_000);
  expect(world.logger.lines.map(({ message }) => message).join()).toMatch(/cannot be written|too late/);
  // It extends nothing meanwhile, and takes the address again when the server answers.
  expect(world.taken()).toEqual([`n1 drops ${address}`]);
  Object.assign(world, { fail: undefined, answerMs: 0 });
  await world.pass(2_000);
  expect(world.taken()).toContain(`n1 announces ${address}`);
});

it('takes the address off again when it stood still between the answer and the link', async () => {
  const world = createWorld();
  world.lease({ leaseTransitions: 1 });
  const { up } = world.startNode('n1');
  const add = up.add.bind(up);
  let isFirst = true;
  up.add = (each) => {
    if (isFirst) world.clock.skew(2_000);
    isFirst = false;
    return add(each);
  };
  await world.pass(300);
  expect(world.taken().slice(0, 2)).toEqual([`n1 holds ${address} for 2`, `n1 drops ${address}`]);
});

it('drops the address of a service that is gone, and gives the Lease back', async () => {
  const world = createWorld();
  world.lease({ leaseTransitions: 1 });
  const { announcer, up } = world.startNode('n1');
  await world.pass(300);
  expect(up.has(address)).toBe(true);
  announcer.set('a/web', { ...balanced, loadBalancerAddresses: [] });
  await world.pass(50);
  expect([up.size, world.holder()]).toEqual([0, '']);
});

it('leaves the address on the link for an agent that starts again, as long as no other may take it', async () => {
  const world = createWorld();
  world.lease({ leaseTransitions: 1 });
  const { end } = world.startNode('n1');
  await world.pass(300);
  world.taken();
  await end();
  expect(world.taken()).toEqual([`n1 holds ${address} for 12`]);
  const other = world.startNode('n2');
  await world.pass(15_500);
  expect(other.up.size).toBe(0);
  await world.pass(1_000);
  expect(world.holder()).toBe('n2');
});
