import { describe, expect, it } from 'vitest';
import type { DaemonSet, Node } from '../../api/generated/types.ts';
import type { InformerHandler } from '../../client/index.ts';
import { daemonSetOf, nodeNamed } from '../../test/builders/daemon-set.ts';
import { nodeChanges } from './node-changes.ts';

const named = (name: string, nodeSelector?: Record<string, string>): DaemonSet => {
  const set = daemonSetOf(nodeSelector ? { pod: { nodeSelector } } : {});
  return { ...set, metadata: { ...set.metadata, name } };
};

function setup() {
  const woken: string[] = [];
  let handler: InformerHandler<Node> = {};
  const informer = {
    addHandler: (added: InformerHandler<Node>) => {
      handler = added;
      return () => {};
    },
    waitForSync: async () => {},
  };
  nodeChanges(informer, () => [named('all'), named('ssd', { disk: 'ssd' })]).connect((key) => woken.push(key));
  return { woken, handler };
}

const heard = (node: Node, at: number): Node => ({
  ...node,
  metadata: { ...node.metadata, resourceVersion: String(at) },
  status: {
    conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: { seconds: at } }],
    images: [{ names: [`i${at}`] }],
  },
});

describe('a change of a node', () => {
  it('wakes no DaemonSet when it is a heartbeat', () => {
    const { woken, handler } = setup();
    let node = nodeNamed('n1', { labels: { disk: 'ssd' }, taints: [] });
    for (let at = 0; at < 100; at++) {
      const next = heard(structuredClone(node), at);
      handler.onUpdate?.(next, node);
      node = next;
    }
    expect(woken).toEqual([]);
  });

  it.each<[string, Node, Node, string[]]>([
    ['a label that one selects', nodeNamed('n1'), nodeNamed('n1', { labels: { disk: 'ssd' } }), ['a/ssd']],
    ['a label that none selects', nodeNamed('n1'), nodeNamed('n1', { labels: { rack: '1' } }), []],
    [
      'a taint that none tolerates',
      nodeNamed('n1'),
      nodeNamed('n1', { taints: [{ key: 'x', effect: 'NoSchedule' }] }),
      ['a/all'],
    ],
    [
      'a taint that all tolerate',
      nodeNamed('n1'),
      nodeNamed('n1', { taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] }),
      [],
    ],
  ])('wakes those that it bears on when it is %s', (_, old, next, keys) => {
    const { woken, handler } = setup();
    handler.onUpdate?.(next, old);
    expect(woken).toEqual(keys);
  });

  it('wakes those that may have a pod there when the node is new, and all when it has gone', () => {
    const { woken, handler } = setup();
    handler.onAdd?.(nodeNamed('n1'));
    expect(woken).toEqual(['a/all']);
    handler.onDelete?.(nodeNamed('n1'));
    expect(woken).toEqual(['a/all', 'a/all', 'a/ssd']);
  });
});
