import { beforeEach, describe, expect, it } from 'vitest';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { createInformer } from '../../client/index.ts';
import { createFakeClock, type FakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { createFakeResourceClient, type FakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import { runController } from '../controller.ts';
import { createNodeLeftovers } from './controller.ts';

type Fake = FakeResourceClient<ApiObject>;
let clock: FakeClock;
let nodes: Fake;
let leases: Fake;
let metrics: Fake;

const named = (name: string, namespace?: string): ApiObject => ({
  metadata: { name, uid: `uid-${name}`, ...(namespace && { namespace }) },
});
const lease = (name: string): ApiObject => named(name, 'kube-node-lease');

beforeEach(() => {
  clock = createFakeClock();
  [nodes, leases, metrics] = ['Node', 'Lease', 'NodeMetrics'].map((kind) => createFakeResourceClient<ApiObject>({ kind })) as [
    Fake,
    Fake,
    Fake,
  ];
});

/** Runs the controller while `during` lets time pass. */
async function running(during: () => Promise<void>): Promise<void> {
  const stop = new AbortController();
  const base = { clock, logger: createFakeLogger() };
  const [ofNodes, ofLeases, ofMetrics] = [nodes, leases, metrics].map((client) =>
    createInformer<ApiObject>({ client, name: 'n', ...base }),
  ) as [ReturnType<typeof createInformer>, ReturnType<typeof createInformer>, ReturnType<typeof createInformer>];
  const kept = [
    { client: leases, informer: ofLeases },
    { client: metrics, informer: ofMetrics },
  ];
  const controller = createNodeLeftovers({ client: { nodes: nodes as never }, nodes: ofNodes, kept, ...base });
  const loops = [
    ...[ofNodes, ofLeases, ofMetrics].map((each) => each.run(stop.signal)),
    runController(controller, base, stop.signal),
  ];
  await settle();
  await during();
  stop.abort();
  await Promise.all(loops);
}

async function pass(seconds: number): Promise<void> {
  for (let i = 0; i < seconds; i++) await clock.advance(1_000);
  await settle();
}

const left = () => [...leases.objects(), ...metrics.objects()].map(({ metadata }) => metadata?.name);

describe('the lease and the figures of a node', () => {
  it('go 40 s after the node was deleted', async () => {
    for (const client of [nodes, metrics]) client.put(named('n1'));
    leases.put(lease('n1'));
    await running(async () => {
      await pass(100);
      expect(left()).toEqual(['n1', 'n1']);
      nodes.remove('n1');
      await pass(35);
      expect(left()).toEqual(['n1', 'n1']);
      await pass(10);
      expect(left()).toEqual([]);
    });
  });

  it('stay while an agent renews the lease, also without a Node', async () => {
    await running(async () => {
      for (let i = 0; i < 12; i++) {
        leases.put(lease('starting'));
        await pass(10);
      }
      expect(left()).toEqual(['starting']);
    });
  });

  it('leave leases alone that belong to no node', async () => {
    leases.put(named('leader', 'kube-system'));
    await running(() => pass(120));
    expect(left()).toEqual(['leader']);
  });

  it('go also when the node was deleted while no controller ran', async () => {
    leases.put(lease('old'));
    metrics.put(named('old'));
    await running(() => pass(60));
    expect(left()).toEqual([]);
  });
});
