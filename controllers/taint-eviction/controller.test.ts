import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { badRequest, unavailable } from '../../api/errors/index.ts';
import type { Node, Pod, Taint } from '../../api/generated/types.ts';
import { createInformer } from '../../client/index.ts';
import { node, type PodBuilder, pod } from '../../test/builders/index.ts';
import { createFakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import '../../test/fakes/fake-patch.ts';
import { createFakePodClient } from '../../test/fakes/fake-pod-client.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import { runController } from '../controller.ts';
import { createOutage } from '../outage.ts';
import { podOutline } from '../outline.ts';
import { createTaintEviction } from './controller.ts';

const key = 'node.kubernetes.io/unreachable';
const lost: Taint = { key, effect: 'NoExecute', timeAdded: { seconds: 1 } };
const staying = (name: string, tolerationSeconds?: number): PodBuilder =>
  pod(name)
    .on('n1')
    .uid(`uid-${name}`)
    .toleration({ key, operator: 'Exists', effect: 'NoExecute', ...(tolerationSeconds !== undefined && { tolerationSeconds }) });

let end = async () => {};
afterEach(() => end());

async function start(objects: readonly PodBuilder[], taints: readonly Taint[] = [lost]) {
  const [clock, logger] = [createFakeClock(), createFakeLogger()];
  const outage = createOutage(clock);
  const base = { clock, logger };
  const tainted = (list: readonly Taint[]): Node =>
    node('n1')
      .with(({ spec }) => Object.assign(spec!, { taints: list }))
      .build();
  const nodes = createFakeResourceClient<Node>({ kind: 'Node', objects: [tainted(taints), node('n2').build()] });
  const pods = createFakePodClient({ objects: objects.map((each) => each.build()) });
  const told: string[] = [];
  const [ofNodes, ofPods] = [
    createInformer<Node>({ client: nodes, name: 'nodes', ...base }),
    createInformer<Pod>({ client: pods, name: 'pods', transform: podOutline, ...base }),
  ];
  const stop = new AbortController();
  const events = { event: (about: { name?: string }, _: string, reason: string) => void told.push(`${about.name} ${reason}`) };
  const controller = () =>
    createTaintEviction({
      client: { nodes, pods: pods as never },
      writes: pods,
      nodes: ofNodes,
      pods: ofPods,
      events,
      outage,
      ...base,
    });
  const running = [ofNodes.run(stop.signal), ofPods.run(stop.signal)];
  let stopLoop = new AbortController();
  let loop = runController(controller(), base, stopLoop.signal);
  end = async () => {
    stop.abort();
    stopLoop.abort();
    await Promise.all([...running, loop]);
  };
  await clock.advance(0);
  return {
    ...{ clock, nodes, pods, outage, told },
    left: () =>
      pods
        .objects()
        .map(({ metadata }) => metadata?.name)
        .toSorted(),
    async taint(...list: Taint[]) {
      nodes.put(tainted(list));
      await settle();
    },
    async restart() {
      stopLoop.abort();
      await loop;
      stopLoop = new AbortController();
      loop = runController(controller(), base, stopLoop.signal);
      await settle();
    },
  };
}

describe('the eviction from tainted nodes', () => {
  it('deletes what does not tolerate the taint at once, the rest when its seconds are over, and nothing elsewhere', async () => {
    const world = await start([pod('now').on('n1'), staying('later', 300), staying('ever'), pod('other').on('n2'), pod('free')]);
    expect(world.left()).toEqual(['ever', 'free', 'later', 'other']);
    await world.clock.advance(299_999);
    expect(world.left()).toContain('later');
    await world.clock.advance(1);
    expect(world.left()).toEqual(['ever', 'free', 'other']);
    expect(world.told).toEqual(['now TaintManagerEviction', 'later TaintManagerEviction']);
  });

  it('says of the pod why it goes, and leaves it its time to end', async () => {
    const world = await start([pod('web').on('n1').uid('u1')]);
    const [patch, deletion] = world.pods.calls.filter(({ method }) => method === 'patch' || method === 'delete');
    const message = `node "n1" has the taint ${key}:NoExecute, which the pod does not tolerate, or no longer`;
    expect(patch?.argument).toMatchObject({
      metadata: { uid: 'u1' },
      status: { conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'DeletionByTaintManager', message }] },
    });
    expect(deletion?.argument).toEqual({ preconditions: { uid: 'u1' } });
  });

  it('lets a pod stay whose node is well again in time, and counts anew the next time', async () => {
    const world = await start([staying('web', 60)]);
    await world.clock.advance(50_000);
    await world.taint();
    await world.clock.advance(60_000);
    await world.taint({ ...lost, timeAdded: { seconds: 2 } });
    await world.clock.advance(59_999);
    expect(world.left()).toEqual(['web']);
    await world.clock.advance(1);
    expect(world.left()).toEqual([]);
  });

  it('counts for pods that come to a tainted node, and for those whose tolerations change', async () => {
    const world = await start([staying('ever').with((each) => Object.assign(each.metadata!, { generation: 1 }))]);
    world.pods.put(staying('late', 30).build());
    world.pods.put(
      staying('ever', 10)
        .with((each) => Object.assign(each.metadata!, { generation: 2 }))
        .build(),
    );
    await world.clock.advance(10_000);
    expect(world.left()).toEqual(['late']);
    await world.clock.advance(20_000);
    expect(world.left()).toEqual([]);
  });

  it('counts anew after its own start and after an outage', async () => {
    const world = await start([staying('web', 60)]);
    await world.clock.advance(59_000);
    await world.restart();
    await world.clock.advance(59_000);
    world.outage.began();
    await world.clock.advance(59_000);
    world.outage.ended();
    await world.clock.advance(59_999);
    expect(world.left()).toEqual(['web']);
    await world.clock.advance(1);
    expect(world.left()).toEqual([]);
  });

  it('begins an outage when the API server does not answer it, and evicts no pod because of that time', async () => {
    const world = await start([staying('web', 60)]);
    world.nodes.failNext('get', unavailable('away'));
    await world.clock.advance(60_000);
    expect(world.left()).toEqual(['web']);
    await world.clock.advance(59_000);
    expect(world.left()).toEqual(['web']);
    await world.clock.advance(5_000);
    expect(world.left()).toEqual([]);
  });

  it('asks the server before it acts: a taint that the copy still shows may be gone', async () => {
    const world = await start([staying('web', 60)]);
    world.nodes.get = async () => node('n1').build();
    await world.clock.advance(600_000);
    expect(world.left()).toEqual(['web']);
  });

  it('goes on with the others when one cannot be deleted, and tries that one again', async () => {
    const world = await start([pod('a').on('n1'), pod('b').on('n1')], []);
    world.pods.failNext('delete', badRequest('no'));
    await world.taint(lost);
    await world.clock.advance(1_000);
    expect(world.pods.callLog('delete')).toEqual(['delete default/a', 'delete default/b', 'delete default/a']);
    expect(world.left()).toEqual([]);
  });

  it('evicts a hundred pods at a time, so that their writes share commits', async () => {
    const many = Array.from({ length: 150 }, (_, index) => pod(`p${index}`).on('n1').uid(`u${index}`));
    const world = await start(many, []);
    const patch = world.pods.patch.bind(world.pods);
    const held: (() => void)[] = [];
    world.pods.patch = async (...call) => {
      await new Promise<void>((resolve) => held.push(resolve));
      return patch(...call);
    };
    await world.taint(lost);
    expect(held).toHaveLength(100);
    for (const release of held.splice(0)) release();
    await settle();
    expect(held).toHaveLength(50);
    for (const release of held.splice(0)) release();
    await settle();
    expect(world.left()).toEqual([]);
  });

  it('reads no pods while nothing is tainted so', async () => {
    const world = await start([pod('web').on('n1')], [{ key: 'gpu', effect: 'NoSchedule' }]);
    await world.clock.advance(600_000);
    expect(world.pods.callLog('get', 'delete', 'patch')).toEqual([]);
    expect(world.nodes.callLog('get')).toEqual([]);
  });

  it('has a pod stay its whole time, however taints, outages and restarts come', async () => {
    const step = fc.record({
      type: fc.constantFrom('taint', 'heal', 'outage', 'restart', 'wait'),
      ms: fc.integer({ min: 1, max: 70_000 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
        const world = await start([staying('web', 60)], []);
        let since: number | undefined;
        let serial = 1;
        for (const { type, ms } of steps) {
          if (world.left().length === 0) break;
          if (type === 'heal') await world.taint();
          else if (type === 'taint') await world.taint({ ...lost, timeAdded: { seconds: ++serial } });
          else if (type === 'restart') await world.restart();
          else if (type === 'outage') world.outage.began();
          const isTainted = world.nodes.stored('n1')?.spec?.taints?.length === 1;
          if (type !== 'wait') since = isTainted ? world.clock.now() : undefined;
          const due = since === undefined ? Number.POSITIVE_INFINITY : since + 60_000;
          const early = Math.min(ms, due - world.clock.now() - 1);
          if (early > 0) await world.clock.advance(early);
          expect(world.left()).toEqual(['web']);
          if (ms > early) await world.clock.advance(ms - early);
        }
        await end();
      }),
      { numRuns: 40 },
    );
  });
});
