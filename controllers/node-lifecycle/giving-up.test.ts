import { afterEach, describe, expect, it } from 'vitest';
import { unavailable } from '../../api/errors/index.ts';
import type { Lease, Node } from '../../api/generated/types.ts';
import { createInformer } from '../../client/index.ts';
import { node } from '../../test/builders/index.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import '../../test/fakes/fake-patch.ts';
import { createFakePodClient } from '../../test/fakes/fake-pod-client.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import { runController } from '../controller.ts';
import { createOutage } from '../outage.ts';
import { createNodeLifecycle } from './controller.ts';
import type { EvictionRates } from './zone-state.ts';

const renewMs = 10_000;
const named = (count: number, prefix = 'n') => Array.from({ length: count }, (_, i) => `${prefix}${i}`);
const zoned = (name: string) => node(name).labels({ 'topology.kubernetes.io/zone': name[0]! });

interface Input {
  readonly names: readonly string[];
  readonly make?: typeof node;
  readonly rates?: Partial<EvictionRates>;
}

async function start({ names, make = node, rates }: Input) {
  const [clock, logger] = [createFakeClock(), createFakeLogger()];
  const nodes = createFakeResourceClient<Node>({ kind: 'Node', objects: names.map((name) => make(name).build()) });
  const leases = createFakeResourceClient<Lease>({ kind: 'Lease' });
  let beats = 0;
  const renew = (name: string) =>
    leases.put({ metadata: { namespace: 'kube-node-lease', name }, spec: { leaseTransitions: beats++ } });
  for (const name of names) renew(name);
  const base = { clock, logger };
  const informers = {
    nodes: createInformer<Node>({ client: nodes, name: 'nodes', ...base }),
    leases: createInformer<Lease>({ client: leases, name: 'leases', ...base }),
  };
  const controller = createNodeLifecycle({
    client: { nodes, leases, pods: createFakePodClient() as never },
    ...informers,
    events: { event: () => {} },
    rates,
    outage: createOutage(clock),
    ...base,
  });
  const stop = new AbortController();
  const running = [
    informers.nodes.run(stop.signal),
    informers.leases.run(stop.signal),
    runController(controller, base, stop.signal),
  ];
  end = async () => {
    stop.abort();
    await Promise.all(running);
  };
  await clock.advance(0);
  return {
    ...{ clock, nodes, leases },
    /** Lets time pass while these agents renew their leases, and call themselves ready. */
    async live(ms: number, alive: readonly string[]) {
      for (let left = ms; left > 0; left -= renewMs) {
        for (const name of alive) {
          renew(name);
          const stored = nodes.stored(name)!;
          if (stored.status?.conditions?.[0]?.status !== 'True') nodes.put({ ...stored, status: node(name).build().status! });
        }
        await clock.advance(Math.min(left, renewMs));
      }
    },
    givenUp: () =>
      nodes
        .objects()
        .filter(({ spec }) => spec?.taints?.some(({ effect }) => effect === 'NoExecute'))
        .map(({ metadata }) => metadata?.name ?? '')
        .toSorted(),
  };
}

let end = async () => {};
afterEach(() => end());

describe('a node that is lost', () => {
  it('is given up within 40 s of its last sign, and no more when it is ready again', async () => {
    const names = named(3);
    const world = await start({ names });
    await world.live(36_000, names.slice(1));
    expect(world.givenUp()).toEqual([]);
    await world.live(4_000, names.slice(1));
    expect(world.givenUp()).toEqual(['n0']);
    await world.live(20_000, names);
    expect(world.givenUp()).toEqual([]);
  });

  it('is not given up when it is heard again within the seconds that are waited for others', async () => {
    const names = named(3);
    const world = await start({ names });
    await world.live(33_000, names.slice(1));
    await world.live(60_000, names);
    expect(world.givenUp()).toEqual([]);
    expect(world.nodes.objects().filter(({ spec }) => spec?.taints?.length)).toEqual([]);
  });

  it('waits for its turn: one in ten seconds', async () => {
    const names = named(10);
    const world = await start({ names });
    const alive = names.slice(4);
    await world.live(40_000, alive);
    const counts = [world.givenUp().length];
    for (let i = 0; i < 4; i++) {
      await world.live(10_000, alive);
      counts.push(world.givenUp().length);
    }
    expect(counts).toEqual([1, 2, 3, 4, 4]);
  });

  it('loses its turn to the next when it is back by then', async () => {
    const names = named(10);
    const world = await start({ names });
    await world.live(40_000, names.slice(3));
    const [first] = world.givenUp();
    const waiting = ['n0', 'n1', 'n2'].filter((name) => name !== first);
    await world.live(25_000, [...names.slice(3), waiting[0]!]);
    expect(world.givenUp()).toEqual([first, waiting[1]].toSorted());
  });

  it('is never given up with a rate of 0', async () => {
    const names = named(3);
    const world = await start({ names, rates: { nodeEvictionRate: 0 } });
    await world.live(600_000, names.slice(1));
    expect(world.givenUp()).toEqual([]);
  });
});

describe('nodes that are lost together', () => {
  it('are not given up when they are 60 % of a zone, for as long as they are', async () => {
    const names = named(10);
    const world = await start({ names });
    await world.live(600_000, names.slice(6));
    expect(world.givenUp()).toEqual([]);
    await world.live(100_000, names);
    expect(world.givenUp()).toEqual([]);
  });

  it('are not given up while they come back one after the other, and then only the one that does not', async () => {
    const names = named(5);
    const world = await start({ names });
    await world.live(60_000, names.slice(3));
    await world.live(15_000, names.slice(2));
    expect(world.givenUp()).toEqual([]);
    await world.live(20_000, names.slice(1));
    expect(world.givenUp()).toEqual([]);
    await world.live(10_000, names.slice(1));
    expect(world.givenUp()).toEqual(['n0']);
  });

  it('take back the one that was given up before the others', async () => {
    const names = named(5);
    const world = await start({ names });
    await world.live(40_000, names.slice(1));
    expect(world.givenUp()).toEqual(['n0']);
    await world.live(60_000, names.slice(3));
    expect(world.givenUp()).toEqual([]);
  });

  it('are given up one by one where they are fewer, or two', async () => {
    const names = named(3);
    const world = await start({ names });
    await world.live(60_000, names.slice(2));
    expect(world.givenUp()).toEqual(['n0', 'n1']);
  });

  it('are given up at the secondary rate where the zone is large', async () => {
    const names = named(60);
    const world = await start({ names });
    await world.live(45_000, names.slice(40));
    expect(world.givenUp()).toHaveLength(1);
    await world.live(90_000, names.slice(40));
    expect(world.givenUp()).toHaveLength(1);
    await world.live(15_000, names.slice(40));
    expect(world.givenUp()).toHaveLength(2);
  });

  it('are not given up when they are all, and have a whole period once the first is back', async () => {
    const names = named(2);
    const world = await start({ names });
    await world.live(600_000, []);
    expect(world.givenUp()).toEqual([]);
    await world.live(30_000, ['n0']);
    expect(world.givenUp()).toEqual([]);
    await world.live(20_000, ['n0']);
    expect(world.givenUp()).toEqual(['n1']);
  });

  it('are given up as usual when they are one zone of several', async () => {
    const names = [...named(4, 'a'), ...named(4, 'b')];
    const world = await start({ names, make: zoned });
    await world.live(100_000, names.slice(4));
    expect(world.givenUp()).toEqual(named(4, 'a'));
  });

  it('have a rate for each zone', async () => {
    const names = [...named(4, 'a'), ...named(4, 'b')];
    const world = await start({ names, make: zoned });
    const alive = names.filter((name) => !['a0', 'a1', 'b0', 'b1'].includes(name));
    await world.live(40_000, alive);
    expect(world.givenUp().map((name) => name[0])).toEqual(['a', 'b']);
  });
});

describe('an API server that was away for ten minutes while all nodes lived', () => {
  it('gives no node up, during and after', async () => {
    const names = named(4);
    const world = await start({ names });
    const { get } = world.leases;
    world.leases.get = async () => {
      throw unavailable('away');
    };
    await world.clock.advance(600_000);
    world.leases.get = get;
    await world.clock.advance(9_000);
    await world.live(100_000, names);
    expect(world.nodes.callLog('patch')).toEqual([]);
    expect(world.givenUp()).toEqual([]);
  });
});
