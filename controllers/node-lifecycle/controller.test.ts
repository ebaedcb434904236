import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { badRequest, exhausted, unavailable } from '../../api/errors/index.ts';
import type { Lease, Node } from '../../api/generated/types.ts';
import { findCondition } from '../../api/meta/conditions.ts';
import { createInformer } from '../../client/index.ts';
import { node, pod } from '../../test/builders/index.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import '../../test/fakes/fake-patch.ts';
import { createFakePodClient } from '../../test/fakes/fake-pod-client.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import { runController } from '../controller.ts';
import { createOutage } from '../outage.ts';
import { createNodeLifecycle } from './controller.ts';

const renewMs = 10_000;
const agentConditions = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];

function ready(name: string): Node {
  const conditions = agentConditions.map((type) => ({ type, status: type === 'Ready' ? 'True' : 'False' }));
  return node(name)
    .with((object) => {
      object.status!.conditions = conditions;
    })
    .build();
}

function setup(names = ['n1', 'n2']) {
  const clock = createFakeClock();
  const logger = createFakeLogger();
  const nodes = createFakeResourceClient<Node>({ kind: 'Node', objects: names.map(ready) });
  const leases = createFakeResourceClient<Lease>({ kind: 'Lease' });
  const condition = { type: 'Ready', status: 'True' };
  const pods = createFakePodClient({
    objects: [
      pod('one').on('n1').condition(condition).build(),
      pod('other').on('n2').condition(condition).build(),
      pod('waiting').on('n1').build(),
    ],
  });
  const told: string[] = [];
  const events = {
    event: (about: { kind?: string; name?: string }, type: string, reason: string) =>
      void told.push(`${about.kind}/${about.name} ${type} ${reason}`),
  };
  const renew = (name: string, seconds = clock.now() / 1000) =>
    leases.put({
      metadata: { namespace: 'kube-node-lease', name },
      spec: { holderIdentity: name, renewTime: { seconds } },
    });
  for (const name of names) renew(name);
  const [nodeInformer, leaseInformer] = [
    createInformer<Node>({ client: nodes, name: 'nodes', clock, logger }),
    createInformer<Lease>({ client: leases, name: 'leases', clock, logger }),
  ];
  const client = { nodes, leases, pods: pods as never };
  const informers = { nodes: nodeInformer, leases: leaseInformer };
  const controller = createNodeLifecycle({ client, ...informers, events, outage: createOutage(clock), clock, logger });
  const stop = new AbortController();
  const running = [
    nodeInformer.run(stop.signal),
    leaseInformer.run(stop.signal),
    runController(controller, { clock, logger }, stop.signal),
  ];
  return {
    ...{ clock, logger, nodes, leases, pods, told, renew },
    /** Lets time pass while the agents of these nodes renew their leases. */
    async live(ms: number, ...alive: string[]) {
      for (let left = ms; left > 0; left -= renewMs) {
        for (const name of alive) renew(name);
        await clock.advance(Math.min(left, renewMs));
      }
    },
    status: (name: string) => findCondition(nodes.stored(name)?.status?.conditions, 'Ready')?.status,
    taints: (name: string) => (nodes.stored(name)?.spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`),
    podReady: (name: string) => findCondition(pods.stored(`default/${name}`)?.status?.conditions, 'Ready'),
    async end() {
      stop.abort();
      await Promise.all(running);
    },
  };
}

const unreachable = 'node.kubernetes.io/unreachable:NoSchedule';
const givenUp = 'node.kubernetes.io/unreachable:NoExecute';
let world: ReturnType<typeof setup>;
beforeEach(async () => {
  world = setup();
  await world.clock.advance(0);
});
afterEach(() => world.end());

describe('the node lifecycle', () => {
  it('says that a node is unknown, tainted, its pods not ready, exactly 30 s after its last sign, and of no other', async () => {
    await world.live(20_000, 'n1', 'n2');
    await world.live(19_999, 'n2');
    expect([world.status('n1'), world.taints('n1')]).toEqual(['True', []]);
    await world.live(1, 'n2');
    expect(world.status('n1')).toBe('Unknown');
    expect(world.taints('n1')).toEqual(['node.kubernetes.io/unreachable:NoSchedule']);
    expect(world.podReady('one')).toMatchObject({ status: 'False', reason: 'NodeNotReady' });
    expect([world.status('n2'), world.taints('n2'), world.podReady('other')?.status]).toEqual(['True', [], 'True']);
    expect(world.podReady('waiting')).toBeUndefined();
  });

  it('tells of it once, on the node and on the pods that were ready, and writes nothing more', async () => {
    await world.live(60_000, 'n2');
    const told = ['Node/n1 Warning NodeNotReady', 'Pod/one Warning NodeNotReady'];
    expect(world.told.toSorted()).toEqual(told);
    const writes = world.nodes.callLog('patch');
    expect(writes).toEqual(['patch n1', 'patch n1', 'patch n1']);
    await world.live(300_000, 'n2');
    expect([world.told.toSorted(), world.nodes.callLog('patch')]).toEqual([told, writes]);
  });

  it('deletes nothing and changes nothing else of pods', async () => {
    await world.live(600_000, 'n2');
    expect(world.pods.callLog('patch', 'delete', 'update')).toEqual(['patch default/one']);
    expect(world.pods.objects()).toHaveLength(3);
  });

  it('removes the taint only once the agent itself reports the node as ready', async () => {
    await world.live(40_000, 'n2');
    await world.live(10_000, 'n1', 'n2');
    expect([world.status('n1'), world.taints('n1')]).toEqual(['Unknown', [unreachable, givenUp]]);
    world.nodes.put({ ...world.nodes.stored('n1'), status: ready('n1').status! });
    await world.live(10_000, 'n1', 'n2');
    expect([world.status('n1'), world.taints('n1')]).toEqual(['True', []]);
    expect(world.told.at(-1)).toBe('Node/n1 Normal NodeReady');
  });

  it('leaves to the agent what a returning agent says of its pods', async () => {
    await world.live(40_000, 'n2');
    world.renew('n1');
    world.pods.put(pod('one').on('n1').condition({ type: 'Ready', status: 'True' }).build());
    await world.live(25_000, 'n1', 'n2');
    expect(world.podReady('one')?.status).toBe('True');
  });

  it('takes a lease that goes back in time for a sign of life: clocks differ', async () => {
    for (let i = 0; i < 10; i++) {
      world.renew('n1', 1_000_000 - i);
      await world.live(20_000, 'n2');
    }
    expect(world.status('n1')).toBe('True');
  });

  it('keeps the taints that others set, also one that was set meanwhile', async () => {
    const stored = world.nodes.stored('n1')!;
    world.nodes.put({ ...stored, spec: { taints: [{ key: 'gpu', effect: 'NoExecute' }] } });
    await world.live(30_000, 'n2');
    expect(world.taints('n1')).toEqual(['gpu:NoExecute', 'node.kubernetes.io/unreachable:NoSchedule']);
  });

  it('judges no node by the time when the API server did not answer, and gives a whole period afterwards', async () => {
    const { get } = world.leases;
    world.leases.get = async () => {
      throw unavailable('away');
    };
    await world.clock.advance(100_000);
    expect([world.status('n1'), world.status('n2')]).toEqual(['True', 'True']);
    world.leases.get = get;
    world.renew('n2');
    await world.clock.advance(29_999);
    expect([world.status('n1'), world.status('n2')]).toEqual(['True', 'True']);
    await world.clock.advance(1);
    expect([world.status('n1'), world.status('n2')]).toEqual(['Unknown', 'Unknown']);
  });

  it('gives the whole period also when no agent comes back with the API server', async () => {
    world.leases.failNext('get', unavailable('away'));
    await world.clock.advance(15_000);
    // The next question, half a period later, is answered; from then on it is a whole one.
    await world.clock.advance(15_000 + 29_999);
    expect([world.status('n1'), world.status('n2')]).toEqual(['True', 'True']);
    await world.clock.advance(1);
    expect([world.status('n1'), world.status('n2')]).toEqual(['Unknown', 'Unknown']);
  });

  it('judges no node by the time when nothing could be written, as with a full disk', async () => {
    world.nodes.failNext('patch', exhausted('the disk is full'));
    await world.live(30_000, 'n2');
    expect(world.status('n1')).toBe('True');
    await world.live(40_000, 'n1', 'n2');
    expect(world.status('n1')).toBe('True');
    await world.live(30_000, 'n2');
    expect(world.status('n1')).toBe('Unknown');
  });

  it('judges the others when one node cannot be written, and marks the other pods when one cannot', async () => {
    world.pods.put(pod('a-first').on('n1').condition({ type: 'Ready', status: 'True' }).build());
    const refuse = (name: string, { patch }: typeof world.nodes | typeof world.pods) =>
      (async (target: { name: string }, ...rest: [object]) => {
        if (target.name === name) throw badRequest('no');
        return patch(target, ...rest);
      }) as never;
    world.pods.patch = refuse('a-first', world.pods);
    await world.live(40_000, 'n2');
    expect([world.podReady('a-first')?.status, world.podReady('one')?.status]).toEqual(['True', 'False']);
    world.nodes.patch = refuse('n1', world.nodes);
    await world.live(40_000);
    expect(world.status('n2')).toBe('Unknown');
  });

  it('asks the server before it judges: a watch that went quiet is no silence', async () => {
    const answer = world.leases.get.bind(world.leases);
    let renewals = 0;
    world.leases.get = async (key, call) => {
      const lease = await answer(key, call);
      return { ...lease, metadata: { ...lease.metadata, resourceVersion: `newer-${renewals++}` } };
    };
    await world.clock.advance(120_000);
    expect([world.status('n1'), world.status('n2')]).toEqual(['True', 'True']);
  });

  it('forgets a node that was deleted and gives one that is made again its whole period', async () => {
    await world.live(29_000, 'n2');
    world.nodes.remove('n1');
    await world.live(1_000, 'n2');
    world.nodes.put({ ...ready('n1'), metadata: { name: 'n1', uid: 'another' } });
    await world.live(29_999, 'n2');
    expect(world.status('n1')).toBe('True');
    await world.live(1, 'n2');
    expect(world.status('n1')).toBe('Unknown');
  });

  it('gives every node a whole period after its own start', async () => {
    await world.live(29_000);
    await world.end();
    const { clock, nodes } = world;
    await clock.advance(600_000);
    expect(nodes.callLog('patch')).toEqual([]);
  });
});
