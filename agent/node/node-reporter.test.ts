import { beforeEach, describe, expect, it } from 'vitest';
import { unavailable } from '../../api/errors/index.ts';
import type { Node, NodeMetrics } from '../../api/generated/types.ts';
import { findCondition } from '../../api/meta/conditions.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import '../../test/fakes/fake-patch.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import type { RuntimeVersion } from '../runtime/runtime.ts';
import { createNodeReporter } from './node-reporter.ts';

const amounts = { cpu: { string: '4' }, memory: { string: '8Gi' } };

const addresses = ['10.0.0.1', 'fd00::1'].map((address) => ({ type: 'InternalIP', address }));

function setup() {
  const clock = createFakeClock();
  const nodes = createFakeResourceClient<Node>({ kind: 'Node' });
  const nodeMetrics = createFakeResourceClient<NodeMetrics>({ kind: 'NodeMetrics' });
  const lease = { since: undefined as number | undefined, unbrokenSince: () => lease.since };
  const reporter = createNodeReporter({
    nodes,
    nodeMetrics,
    lease,
    runtime: { version: async () => ({ runtime: 'docker://20.10.24' }) as RuntimeVersion },
    images: { list: async () => [] },
    usage: { sample: async () => ({ usage: {}, metrics: { metadata: { name: 'n1' } } }) },
    containers: () => [],
    nodeName: 'n1',
    inventory: { capacity: amounts, allocatable: amounts, addresses, nodeInfo: {} } as never,
    agentVersion: '0',
    localPathFolder: '/data/local-path',
    registration: { labels: { rack: 'a', 'kubernetes.io/os': 'mine' }, taints: [{ key: 'gpu', effect: 'NoSchedule' }] },
    clock,
    logger: createFakeLogger(),
  });
  return { clock, nodes, lease, reporter };
}

let world: ReturnType<typeof setup>;
const ready = () => findCondition(world.nodes.stored('n1')?.status?.conditions, 'Ready');
const statusWrites = () =>
  world.nodes.calls.filter(
    ({ method, argument }) => method === 'patch' && 'conditions' in (argument as { status: object }).status,
  );

/** What the node controller writes about a node that is silent. */
function lose(): void {
  const stored = world.nodes.stored('n1')!;
  const conditions = stored.status!.conditions!.map((each) => ({ ...each, status: 'Unknown', reason: 'NodeStatusUnknown' }));
  world.nodes.put({ ...stored, status: { ...stored.status, conditions } });
}

describe('the reporter of the node', () => {
  beforeEach(async () => {
    world = setup();
  });

  it('makes the node with the labels and taints that it was given, and leaves those of one that is there alone', async () => {
    await whileRunning(async () => {});
    const made = world.nodes.stored('n1')!;
    expect(made.metadata?.labels).toMatchObject({ rack: 'a' });
    expect(made.metadata?.labels?.['kubernetes.io/os']).not.toBe('mine');
    expect(made.spec?.taints).toEqual([{ key: 'gpu', effect: 'NoSchedule' }]);
    world.nodes.put({ ...made, metadata: { ...made.metadata, labels: {} }, spec: {} });
    await whileRunning(async () => {});
    expect(world.nodes.stored('n1')?.metadata?.labels).not.toHaveProperty('rack');
    expect(world.nodes.stored('n1')?.spec?.taints ?? []).toEqual([]);
  });

  it('says on the node where it makes volumes, also on one that is there already', async () => {
    const where = () => world.nodes.stored('n1')?.metadata?.annotations?.['berth.io/local-path-folder'];
    await whileRunning(async () => {});
    expect(where()).toBe('/data/local-path');
    const { metadata, ...rest } = world.nodes.stored('n1')!;
    world.nodes.put({ ...rest, metadata: { ...metadata, annotations: { 'berth.io/local-path-folder': '/former', mine: 'x' } } });
    await whileRunning(async () => {});
    expect(world.nodes.stored('n1')?.metadata?.annotations).toEqual({
      'berth.io/local-path-folder': '/data/local-path',
      mine: 'x',
    });
  });

  async function whileRunning(run: () => Promise<void>): Promise<void> {
    const stop = new AbortController();
    await world.reporter.register(stop.signal);
    const running = world.reporter.run(stop.signal);
    await run();
    stop.abort();
    await running;
  }

  it("keeps conditions of other components, and says the machine's addresses, of which two have one type", async () => {
    await whileRunning(async () => {
      const stored = world.nodes.stored('n1')!;
      const conditions = [...stored.status!.conditions!, { type: 'Theirs', status: 'True' }];
      world.nodes.put({
        ...stored,
        status: { ...stored.status, conditions, addresses: [{ type: 'InternalIP', address: '10.9.9.9' }] },
      });
      await world.clock.advance(301_000);
    });
    const { status } = world.nodes.stored('n1')!;
    expect(status?.conditions?.map(({ type }) => type)).toEqual(expect.arrayContaining(['Ready', 'Theirs']));
    expect(status?.addresses).toEqual(addresses);
  });

  it('offers to pods what another client says that the machine has, until it is taken back', async () => {
    const dongles = () => world.nodes.stored('n1')?.status?.allocatable?.['example.com/dongle']?.string;
    const say = (change: (capacity: Record<string, { string: string }>) => void) => {
      const stored = world.nodes.stored('n1')!;
      const capacity = { ...stored.status?.capacity } as Record<string, { string: string }>;
      change(capacity);
      world.nodes.put({ ...stored, status: { ...stored.status, capacity } });
    };
    await whileRunning(async () => {
      say((capacity) => {
        capacity['example.com/dongle'] = { string: '3' };
      });
      await world.clock.advance(30_000);
      expect(dongles()).toBe('3');
      say((capacity) => {
        delete capacity['example.com/dongle'];
      });
      await world.clock.advance(30_000);
      expect(dongles()).toBeUndefined();
      expect(world.nodes.stored('n1')?.status?.allocatable).toMatchObject(amounts);
      expect(statusWrites()).toHaveLength(3);
    });
  });

  it('writes a status without news once in five minutes', async () => {
    await whileRunning(async () => {
      await world.clock.advance(299_000);
      expect(statusWrites()).toHaveLength(1);
      await world.clock.advance(2_000);
      expect(statusWrites()).toHaveLength(2);
    });
  });

  it('writes its conditions again when another client has overwritten them, with the time of the change', async () => {
    await whileRunning(async () => {
      await world.clock.advance(40_000);
      lose();
      await world.clock.advance(10_000);
      expect(ready()).toMatchObject({ status: 'True', reason: 'KubeletReady' });
      expect(ready()?.lastTransitionTime?.seconds).toBe(world.clock.now() / 1000);
      expect(statusWrites()).toHaveLength(2);
    });
  });

  it('reads the node only when no answer of the last 20 s says what the API has', async () => {
    await whileRunning(async () => {
      const reads = () => world.nodes.calls.filter(({ method }) => method === 'get').length;
      const before = reads();
      await world.clock.advance(300_000);
      expect(reads() - before).toBeGreaterThan(5);
      expect(reads() - before).toBeLessThanOrEqual(15);
    });
  });

  it('reads the node rarely while its lease was renewed in time, and at the next check after one that was late', async () => {
    await whileRunning(async () => {
      const reads = () => world.nodes.calls.filter(({ method }) => method === 'get').length;
      world.lease.since = world.clock.now();
      await world.clock.advance(30_000);
      const before = reads();
      await world.clock.advance(300_000);
      expect(reads() - before).toBeGreaterThanOrEqual(2);
      expect(reads() - before).toBeLessThanOrEqual(4);
      // An answer from before the silence says nothing of what was written during it.
      world.lease.since = world.clock.now();
      lose();
      const silent = reads();
      await world.clock.advance(20_000);
      expect(reads() - silent).toBe(1);
      expect(ready()?.status).toBe('True');
    });
  });

  it('takes no answer for newer than its question', async () => {
    await whileRunning(async () => {
      await world.clock.advance(25_000);
      const { get } = world.nodes;
      // The node controller overwrites the conditions, and the lease is renewed again, while the answer is under way.
      world.nodes.get = async (key, options) => {
        const node = await get(key, options);
        await world.clock.advance(5_000);
        lose();
        world.lease.since = world.clock.now();
        world.nodes.get = get;
        return node;
      };
      await world.clock.advance(60_000);
      expect(ready()?.status).toBe('True');
    });
  });

  it('reads the node at the next check after it stood still', async () => {
    await whileRunning(async () => {
      await world.clock.advance(25_000);
      world.clock.skew(40_000);
      lose();
      await world.clock.advance(10_000);
      expect(ready()?.status).toBe('True');
    });
  });

  it('says so also after the server was away', async () => {
    await whileRunning(async () => {
      world.nodes.failNext('get', unavailable('away'), 3);
      await world.clock.advance(50_000);
      lose();
      await world.clock.advance(10_000);
      expect(ready()?.status).toBe('True');
    });
  });

  it('takes the place of a status from before its start', async () => {
    await whileRunning(async () => {});
    lose();
    await whileRunning(async () => {
      expect(ready()?.status).toBe('True');
    });
  });

  it('leaves conditions of others alone', async () => {
    await whileRunning(async () => {
      const stored = world.nodes.stored('n1')!;
      const conditions = [...stored.status!.conditions!, { type: 'NetworkUnavailable', status: 'False' }];
      world.nodes.put({ ...stored, status: { ...stored.status, conditions } });
      lose();
      await world.clock.advance(30_000);
      expect(findCondition(world.nodes.stored('n1')?.status?.conditions, 'NetworkUnavailable')?.status).toBe('Unknown');
      const sent = statusWrites().at(-1)?.argument as { status: { conditions: { type: string }[] } };
      expect(sent.status.conditions.map(({ type }) => type)).toEqual(['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready']);
    });
  });
});
