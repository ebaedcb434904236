import { expect, it } from 'vitest';
import type { Node } from '../../api/generated/types.ts';
import type { Informer } from '../../client/index.ts';
import { NodeRangesController } from './controller.ts';
import { parseNodeRanges } from './decide.ts';

/** A controller of two ranges over nodes that an informer shows when it is told to. */
function createWorld(fails: () => Error | undefined = () => undefined) {
  const shown = new Map<string, Node>();
  const patches: string[] = [];
  const told: string[] = [];
  const lister = { get: (name: string) => shown.get(name), list: () => [...shown.values()] };
  const controller = new NodeRangesController({
    client: {
      nodes: {
        patch: async ({ name }, patch) => {
          patches.push(`${name} ${(patch as Node).spec?.podCIDR}`);
          const error = fails();
          if (error) throw error;
          return {};
        },
      },
    },
    nodes: { lister } as unknown as Informer<Node>,
    events: { event: (about, type, reason, message) => told.push(`${about.name} ${type} ${reason}: ${message}`) },
    ranges: parseNodeRanges({ clusterCidr: '10.42.0.0/23' }),
  });
  const show = (name: string, podCIDR?: string) =>
    shown.set(name, { metadata: { name, uid: `uid-${name}` }, spec: podCIDR ? { podCIDR } : {} });
  return { shown, show, patches, told, look: () => controller.reconcile('all', new AbortController().signal) };
}

it('writes the same range again while the informer does not show it, and none twice', async () => {
  let error: Error | undefined = new Error('no answer');
  const world = createWorld(() => error);
  world.show('a');
  await expect(world.look()).rejects.toThrow('no answer');
  world.show('b');
  error = undefined;
  await world.look();
  expect(world.patches).toEqual(['a 10.42.0.0/24', 'a 10.42.0.0/24', 'b 10.42.1.0/24']);
});

it('tells a node once that no range is free, and when it gets one', async () => {
  const world = createWorld();
  world.show('a', '10.42.0.0/24');
  world.show('b', '10.42.1.0/24');
  world.show('c');
  await world.look();
  await world.look();
  expect(world.told).toEqual([
    'c Warning CIDRNotAvailable: no range of pod addresses is free: all 2 ranges of 10.42.0.0/23 (a /24 each) are held by nodes; delete nodes that are gone for good, or start the server with a larger --cluster-cidr',
  ]);
  world.shown.delete('a');
  await world.look();
  expect(world.patches).toEqual(['c 10.42.0.0/24']);
  expect(world.told[1]).toBe('c Normal CIDRAssigned: the node has the pod addresses 10.42.0.0/24 now');
});

it('tells a node once that its range is not in the cluster’s, and gives others ranges', async () => {
  const world = createWorld();
  world.show('a', '10.50.0.0/24');
  world.show('b');
  await world.look();
  await world.look();
  expect(world.patches).toEqual(['b 10.42.0.0/24', 'b 10.42.0.0/24']);
  expect(world.told).toEqual([
    "a Warning CIDROutsideCluster: the node's pod addresses 10.50.0.0/24 are not in --cluster-cidr 10.42.0.0/23, of which new nodes get theirs: its pods go on; start the server with the range of before, or delete the node and let it join again",
  ]);
});
