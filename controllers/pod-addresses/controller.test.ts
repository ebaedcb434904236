import { afterEach, describe, expect, it } from 'vitest';
import type { Namespace, NetworkPolicy, Node, Pod, PodAddressSlice } from '../../api/generated/types.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { createInformer, type IndexFunction } from '../../client/index.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import { runController } from '../controller.ts';
import { namespaceIndexers } from '../owned-pods/pod-index.ts';
import { podIndexers } from '../pod-garbage/controller.ts';
import { PodAddressController } from './controller.ts';
import { namespaceOf, nodeOf, podOf } from './test-pods.ts';

const policy = (name: string): NetworkPolicy => ({ metadata: { name, namespace: 'elsewhere' } });
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** The controller beside a server, with the node n1, the namespace "shop", and these pods and policies. */
async function createWorld({ pods = [], policies = [] }: { pods?: Pod[]; policies?: NetworkPolicy[] } = {}) {
  const [clock, logger, stop] = [createFakeClock(), createFakeLogger(), new AbortController()];
  const running: Promise<void>[] = [];
  const serverOf = <T extends ApiObject>(kind: string, objects: T[], indexers: Record<string, IndexFunction<T>> = {}) => {
    const client = createFakeResourceClient<T>({ kind, objects });
    const informer = createInformer<T>({ client, name: kind, indexers, clock, logger });
    running.push(informer.run(stop.signal));
    return { client, informer };
  };
  const stored = {
    policies: serverOf<NetworkPolicy>('NetworkPolicy', policies),
    namespaces: serverOf<Namespace>('Namespace', [namespaceOf()]),
    pods: serverOf<Pod>('Pod', pods, { ...namespaceIndexers, node: podIndexers.node }),
    nodes: serverOf<Node>('Node', [nodeOf('n1')]),
    slices: serverOf<PodAddressSlice>('PodAddressSlice', [], namespaceIndexers),
  };
  let names = 0;
  const { client } = stored.slices;
  const controller = new PodAddressController({
    policies: stored.policies.informer,
    namespaces: stored.namespaces.informer,
    pods: stored.pods.informer,
    nodes: stored.nodes.informer,
    slices: stored.slices.informer,
    writes: {
      create: (slice) => client.create({ ...slice, metadata: { ...slice.metadata, name: `s${++names}` } }),
      update: (slice) => client.update(slice),
      delete: (key, options) => client.delete(key, options),
    },
    clock,
  });
  running.push(runController(controller, { clock, logger }, stop.signal));
  ends.push(() => {
    stop.abort();
    return Promise.all(running);
  });
  await clock.advance(0);
  const of = (key: 'policies' | 'namespaces' | 'pods' | 'nodes') =>
    stored[key].client as ReturnType<typeof createFakeResourceClient>;
  return {
    clock,
    put: (key: 'policies' | 'namespaces' | 'pods' | 'nodes', object: ApiObject) => of(key).put(object),
    remove: (key: 'policies' | 'namespaces' | 'pods' | 'nodes', name: string) => of(key).remove(name),
    writes: () => client.callLog('create', 'update', 'delete').length,
    /** The addresses of pods in the slices. */
    shown: () => client.objects().flatMap((slice) => (slice.pods ?? []).flatMap(({ podIPs = [] }) => podIPs)),
    slices: () => client.objects(),
  };
}

describe('slices of pod addresses', () => {
  it('are not written while there is no policy, whatever happens to pods', async () => {
    const { clock, put, writes, slices } = await createWorld({ pods: [podOf('p1')] });
    put('pods', podOf('p2'));
    put('namespaces', namespaceOf('shop', { team: 'b' }));
    await clock.advance(1_000);
    expect([writes(), slices()]).toEqual([0, []]);
  });

  it('are there after the first policy of any namespace, and gone after the last', async () => {
    const { clock, put, remove, shown, slices } = await createWorld({ pods: [podOf('p1')] });
    put('policies', policy('a'));
    await clock.advance(100);
    expect(shown()).toEqual(['10.42.0.1']);
    put('policies', policy('b'));
    remove('policies', 'elsewhere/a');
    await clock.advance(1_000);
    expect(shown()).toEqual(['10.42.0.1']);
    remove('policies', 'elsewhere/b');
    await clock.advance(200);
    expect(slices()).toEqual([]);
  });

  it('are there when the controller begins with policies', async () => {
    const { shown } = await createWorld({ pods: [podOf('p1')], policies: [policy('a')] });
    expect(shown()).toEqual(['10.42.0.1']);
  });

  it('have a pod 100 ms after it has an address, and not after it has ended', async () => {
    const { clock, put, shown } = await createWorld({ pods: [podOf('p1')], policies: [policy('a')] });
    put('pods', podOf('p2', { status: { podIP: '' } }));
    await clock.advance(1_000);
    expect(shown()).toEqual(['10.42.0.1']);
    put('pods', podOf('p2'));
    await clock.advance(100);
    expect(shown()).toEqual(['10.42.0.1', '10.42.0.2']);
    put('pods', podOf('p3'));
    await clock.advance(100);
    expect(shown()).toHaveLength(3);
    put('pods', podOf('p1', { status: { phase: 'Succeeded' } }));
    await clock.advance(100);
    expect(shown()).toEqual(['10.42.0.2', '10.42.0.3']);
  });

  it('take a burst of 1,000 pods in few writes', async () => {
    const { clock, put, shown, writes } = await createWorld({ policies: [policy('a')] });
    for (let i = 0; i < 1_000; i++) {
      put('pods', podOf(`p${i}`));
      await clock.advance(1);
    }
    await clock.advance(200);
    expect(shown()).toHaveLength(1_000);
    // One look in 50 ms, which writes one or two slices each.
    expect(writes()).toBeLessThan(45);
  });

  it('follow the labels of their namespace', async () => {
    const { clock, put, slices } = await createWorld({ pods: [podOf('p1')], policies: [policy('a')] });
    put('namespaces', namespaceOf('shop', { team: 'b' }));
    await clock.advance(100);
    expect(slices().map(({ namespaceLabels }) => namespaceLabels)).toEqual([{ team: 'b' }]);
  });

  it('have the pods of a node when its range is known', async () => {
    const waiting = podOf('p1', { spec: { nodeName: 'n2' }, status: { podIP: '10.43.0.1' } });
    const { clock, put, shown } = await createWorld({ pods: [waiting], policies: [policy('a')] });
    put('nodes', { metadata: { name: 'n2' } });
    await clock.advance(500);
    expect(shown()).toEqual([]);
    put('nodes', nodeOf('n2', '10.43.0.0/24'));
    await clock.advance(100);
    expect(shown()).toEqual(['10.43.0.1']);
  });

  it('are not written for changes of pods that nodes do not see', async () => {
    const { clock, put, writes } = await createWorld({ pods: [podOf('p1')], policies: [policy('a')] });
    const before = writes();
    put('pods', podOf('p1', { status: { conditions: [{ type: 'Ready', status: 'True' }] } }));
    await clock.advance(500);
    expect(writes()).toBe(before);
  });
});
