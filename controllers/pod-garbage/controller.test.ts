import { afterEach, describe, expect, it } from 'vitest';
import { badRequest } from '../../api/errors/index.ts';
import type { Node, Pod } from '../../api/generated/types.ts';
import { createInformer } from '../../client/index.ts';
import { node, pod } from '../../test/builders/index.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import '../../test/fakes/fake-patch.ts';
import { createFakePodClient } from '../../test/fakes/fake-pod-client.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import { runController } from '../controller.ts';
import { podOutline } from '../outline.ts';
import { createPodGarbage, podIndexers } from './controller.ts';

let end = async () => {};
afterEach(() => end());

async function setup(objects: Pod[], maxFinished?: number) {
  const clock = createFakeClock();
  const logger = createFakeLogger();
  const nodes = createFakeResourceClient<Node>({ kind: 'Node', objects: [node('n1').build()] });
  const pods = createFakePodClient({ objects });
  const told: string[] = [];
  const nodeInformer = createInformer<Node>({ client: nodes, name: 'nodes', clock, logger });
  const podInformer = createInformer<Pod>({
    client: pods,
    name: 'pods',
    transform: podOutline,
    indexers: podIndexers,
    clock,
    logger,
  });
  const controller = createPodGarbage({
    client: { nodes, pods: pods as never },
    pods: podInformer,
    nodes: nodeInformer,
    events: { event: (about, _type, reason) => void told.push(`${about.name} ${reason}`) },
    maxFinished,
    clock,
    logger,
  });
  const stop = new AbortController();
  const environment = { clock, logger };
  const running = [
    nodeInformer.run(stop.signal),
    podInformer.run(stop.signal),
    runController(controller, environment, stop.signal),
  ];
  end = async () => {
    stop.abort();
    await Promise.all(running);
  };
  await clock.advance(0);
  const left = () =>
    pods
      .objects()
      .map(({ metadata }) => metadata?.name)
      .toSorted();
  return { clock, nodes, pods, told, left };
}

describe('the pod garbage collection', () => {
  it('removes the pods of a node that has been gone for 40 s, at once and as failed, and says why', async () => {
    const { clock, nodes, pods, told, left } = await setup([pod('one').on('n1').phase('Running').build(), pod('free').build()]);
    nodes.remove('n1');
    await clock.advance(39_999);
    expect(left()).toEqual(['free', 'one']);
    await clock.advance(1);
    expect(left()).toEqual(['free']);
    const [first, second] = pods.calls.filter(({ method }) => method === 'delete' || method === 'patch');
    expect(first).toMatchObject({
      method: 'patch',
      argument: { status: { phase: 'Failed', conditions: [{ type: 'DisruptionTarget', reason: 'DeletionByPodGC' }] } },
    });
    expect(second).toMatchObject({ method: 'delete', argument: { gracePeriodSeconds: 0, preconditions: { uid: 'uid-one' } } });
    expect(told).toEqual(['one NodeGone']);
  });

  it('leaves the pods of a node that was made again in time', async () => {
    const { clock, nodes, left } = await setup([pod('one').on('n1').phase('Running').build()]);
    nodes.remove('n1');
    await clock.advance(30_000);
    nodes.put(node('n1').build());
    await clock.advance(60_000);
    nodes.remove('n1');
    await clock.advance(39_000);
    expect(left()).toEqual(['one']);
  });

  it('removes a pod that is bound to a node that never was', async () => {
    const { clock, left } = await setup([pod('typo').on('n-one').build()]);
    await clock.advance(40_000);
    expect(left()).toEqual([]);
  });

  it('asks the server before it removes anything: its own list of nodes may be old', async () => {
    const { clock, nodes, left } = await setup([pod('one').on('n2').phase('Running').build()]);
    const { get } = nodes;
    nodes.get = async ({ name }) => node(name).build();
    await clock.advance(120_000);
    expect(left()).toEqual(['one']);
    nodes.get = get;
  });

  it('removes the others also when one of them cannot be written, and tries that one again', async () => {
    const { clock, pods, nodes, left } = await setup(['a', 'b'].map((name) => pod(name).on('n1').phase('Running').build()));
    const { patch } = pods;
    pods.patch = async (target, ...rest) => {
      if (target.name === 'a') throw badRequest('cannot patch pod "a"');
      return patch(target, ...rest);
    };
    nodes.remove('n1');
    await clock.advance(40_000);
    expect(left()).toEqual(['a']);
    pods.patch = patch;
    await clock.advance(1_000);
    expect(left()).toEqual([]);
  });

  it('asks once for each pod, also when that stays for a while, as with a finalizer', async () => {
    const { clock, nodes, pods, told } = await setup([pod('one').on('n1').phase('Running').build()]);
    let deletions = 0;
    pods.delete = async ({ name }) => {
      const stored = pods.stored(`default/${name}`)!;
      if (deletions++ === 0) pods.put({ ...stored, metadata: { ...stored.metadata, finalizers: ['a/b'] } });
      return stored;
    };
    nodes.remove('n1');
    await clock.advance(120_000);
    expect([deletions, told]).toEqual([1, ['one NodeGone']]);
  });

  it('removes the oldest pods that have ended, beyond the bound', async () => {
    const ended = [1, 2, 3].map((at) =>
      pod(`p${at}`)
        .on('n1')
        .phase('Succeeded')
        .createdAt(at * 1_000)
        .build(),
    );
    const { clock, pods, told, left } = await setup(ended, 2);
    expect(left()).toEqual(['p2', 'p3']);
    pods.put(pod('p4').on('n1').phase('Failed').createdAt(4_000).build());
    await clock.advance(0);
    expect([left(), told]).toEqual([['p3', 'p4'], []]);
  });
});
