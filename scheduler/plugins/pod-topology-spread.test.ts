import { describe, expect, it } from 'vitest';
import type { TopologySpreadConstraint } from '../../api/generated/types.ts';
import { node, type PodBuilder, pod } from '../../test/builders/index.ts';
import { judge } from '../../test/builders/judge.ts';
import { nodeTable } from '../../test/builders/node-table.ts';
import type { ClusterEvent } from '../framework/plugin.ts';
import { podInfo } from '../framework/pod-info.ts';
import { podTopologySpread } from './pod-topology-spread.ts';

const plugin = podTopologySpread();
const nodes = [
  node('a1').labels({ zone: 'a', 'topology.kubernetes.io/zone': 'a' }).build(),
  node('a2').labels({ zone: 'a', 'topology.kubernetes.io/zone': 'a' }).build(),
  node('b1').labels({ zone: 'b', 'topology.kubernetes.io/zone': 'b' }).build(),
  node('c1').labels({ zone: 'c', 'topology.kubernetes.io/zone': 'c' }).taint('k', 'NoSchedule').build(),
  node('none').build(),
];
const web = (name: string) => pod(name).labels({ app: 'web' });
const on = (...names: string[]) => names.map((name, i) => web(`w${i}`).on(name).build());
const selector = { labelSelector: { matchLabels: { app: 'web' } } };
const hard = (more: TopologySpreadConstraint = {}): TopologySpreadConstraint => ({
  topologyKey: 'zone',
  maxSkew: 1,
  whenUnsatisfiable: 'DoNotSchedule',
  ...selector,
  ...more,
});
const soft = (more: TopologySpreadConstraint = {}) => hard({ whenUnsatisfiable: 'ScheduleAnyway', ...more });
const spread = (...constraints: TopologySpreadConstraint[]) => web('p').spec({ topologySpreadConstraints: constraints });
const passing = (wanted: PodBuilder, placed: readonly string[]) => {
  const { filter } = judge(plugin, { pod: wanted.build(), nodes, pods: on(...placed) });
  return Object.keys(filter).filter((name) => filter[name] === 'passes');
};
const uneven = "node(s) didn't match pod topology spread constraints";

describe('PodTopologySpread', () => {
  it('refuses nodes where the pod would make its domain hold too much, and nodes without the label', () => {
    const judged = judge(plugin, { pod: spread(hard()).build(), nodes, pods: on('a1', 'b1', 'b1') });
    expect(judged.filter).toEqual({
      a1: uneven,
      a2: uneven,
      b1: uneven,
      c1: 'passes',
      none: `${uneven} (missing required label)`,
    });
    expect([judged.codes.a1, judged.codes.none]).toEqual(['unschedulable', 'unresolvable']);
    expect(judged.why).toMatchObject({
      b1: 'zone=b has 2 matching pods, the domain with the fewest 0; maxSkew is 1',
      none: 'the node has no label zone',
    });
  });

  it('says that domains are missing, and invents none', () => {
    const judged = judge(plugin, { pod: spread(hard({ minDomains: 4 })).build(), nodes, pods: on('a1', 'b1', 'c1') });
    expect(judged.why.a1).toBe(
      'zone=a has 1 matching pods, and there are 3 domains where minDomains asks for 4, so that none may hold more than maxSkew; maxSkew is 1',
    );
  });

  const placed = ['a1', 'a2', 'b1'];
  const tolerant = (constraint: TopologySpreadConstraint) => spread(constraint).nodeSelector({ zone: 'a' });
  it.each<[string, string[], PodBuilder, string[]]>([
    ['a skew of two', ['b1', 'c1'], spread(hard({ maxSkew: 2 })), placed],
    ['domains that are all even', ['a1', 'a2', 'b1', 'c1'], spread(hard()), ['a1', 'b1', 'c1']],
    [
      'a pod that the constraint does not select, so that it does not count itself',
      ['b1', 'c1'],
      spread(hard()).labels({ app: 'x' }),
      placed,
    ],
    [
      'fewer domains than minDomains, so that the emptiest counts as empty',
      [],
      spread(hard({ minDomains: 4 })),
      ['a1', 'b1', 'c1'],
    ],
    ['as many domains as minDomains', ['a1', 'a2', 'b1', 'c1'], spread(hard({ minDomains: 3 })), ['a1', 'b1', 'c1']],
    [
      'a selector of nodes, whose other domains count for nothing',
      ['a1', 'a2', 'b1', 'c1'],
      tolerant(hard()),
      ['a1', 'b1', 'b1'],
    ],
    [
      'a selector of nodes that the constraint ignores',
      ['c1'],
      tolerant(hard({ nodeAffinityPolicy: 'Ignore' })),
      ['a1', 'b1', 'b1'],
    ],
    [
      'taints that the constraint honours, so that an empty domain does not count',
      ['a1', 'a2', 'b1', 'c1'],
      spread(hard({ nodeTaintsPolicy: 'Honor' })),
      ['a1', 'b1'],
    ],
    [
      'taints that are honoured and tolerated',
      ['c1'],
      spread(hard({ nodeTaintsPolicy: 'Honor' })).toleration({ operator: 'Exists' }),
      ['a1', 'b1'],
    ],
    [
      'two constraints, of which both must hold',
      ['a2'],
      spread(hard({ maxSkew: 2 }), hard({ topologyKey: 'kubernetes.io/hostname' })),
      ['a1', 'b1', 'c1', 'none', 'b1', 'c1'],
    ],
    [
      'a selector that is absent, which selects nothing',
      ['a1', 'a2', 'b1', 'c1'],
      spread({ ...hard(), labelSelector: undefined } as never),
      placed,
    ],
  ])('judges %s', (_, names, wanted, where) => {
    expect(passing(wanted, where)).toEqual(names);
  });

  it('counts neither pods of other namespaces nor pods that are being deleted', () => {
    const pods = [web('x').namespace('other').on('a1').build(), web('y').on('a1').deleting(0).build(), ...on('b1')];
    const { filter } = judge(plugin, { pod: spread(hard()).build(), nodes, pods });
    expect([filter.a1, filter.b1]).toEqual(['passes', uneven]);
  });

  it('likes the emptier domains better, and nodes that lack a label not at all', () => {
    const { scores, filter } = judge(plugin, { pod: spread(soft()).build(), nodes, pods: on('a1', 'a2', 'b1') });
    expect(scores).toEqual({ a1: 0, a2: 0, b1: 50, c1: 100, none: 0 });
    expect(new Set(Object.values(filter))).toEqual(new Set(['passes']));
  });

  it('waters differences down by maxSkew', () => {
    const { scores } = judge(plugin, { pod: spread(soft({ maxSkew: 5 })).build(), nodes, pods: on('a1', 'a2', 'b1') });
    // Three domains: ln 5 for each pod, and 4 for the skew that is allowed.
    const [a, b, c] = [2, 1, 0].map((count) => count * Math.log(5) + 4) as [number, number, number];
    expect(scores.b1).toBeCloseTo((100 * (a + c - b)) / a, 9);
    expect([scores.a1, scores.c1]).toEqual([expect.closeTo((100 * c) / a, 9), 100]);
  });

  const owned = (name: string, kind: string, uid = 'rs-1') =>
    pod(name).with(({ metadata }) => {
      metadata!.ownerReferences = [{ apiVersion: 'apps/v1', kind, name: 'rs', uid, controller: true }];
    });
  it('spreads the pods of one controller by machine and zone where they say nothing, nodes without a zone too', () => {
    const others = [owned('o1', 'ReplicaSet').on('a1').build(), owned('o2', 'ReplicaSet', 'rs-2').on('b1').build()];
    const { scores } = judge(plugin, { pod: owned('p', 'ReplicaSet').build(), nodes, pods: others });
    expect(scores.none).toBe(100);
    expect(scores.a1).toBeLessThan(scores.a2!);
    expect(scores.a2).toBeLessThan(scores.b1!);
    expect(scores.b1).toBe(scores.c1);
    expect(judge(plugin, { pod: owned('p', 'Job').build(), nodes, pods: others }).scores).toEqual({});
    expect(judge(plugin, { pod: pod('p').build(), nodes, pods: others }).scores).toEqual({});
  });

  it('takes other defaults, or none, as an argument', () => {
    const pods = [owned('o1', 'ReplicaSet').on('a1').build()];
    const list = podTopologySpread({
      defaultingType: 'List',
      defaultConstraints: [{ topologyKey: 'zone', maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule' }],
    });
    expect(judge(list, { pod: owned('p', 'ReplicaSet').build(), nodes, pods }).filter.a2).toBe(uneven);
    const none = podTopologySpread({ defaultingType: 'List' });
    expect(judge(none, { pod: owned('p', 'ReplicaSet').build(), nodes, pods }).scores).toEqual({});
  });

  it('follows a pod that is taken off a node for a trial, and back', () => {
    const there = on('a1', 'a2', 'b1', 'c1');
    const table = nodeTable(nodes, there);
    const prepared = plugin.prepare?.({ pod: info(spread(hard())), nodes: table, now: 0 });
    if (prepared?.kind !== 'proceed') throw new Error('the plugin has nothing to say');
    const row = table.rowOf('a1')!;
    const verdict = () => plugin.filter?.(prepared.state, table, row)?.reason;
    const move = (sign: 1 | -1) => plugin.withPod?.(prepared.state, { nodes: table, row, pod: podInfo(there[0]!), sign });
    const seen = [verdict()];
    for (const sign of [-1, 1] as const) {
      move(sign);
      seen.push(verdict());
    }
    expect(seen).toEqual([uneven, undefined, uneven]);
  });

  const info = (built: PodBuilder) => podInfo(built.build());
  it.each<[string, boolean, ClusterEvent, TopologySpreadConstraint]>([
    ['a counted pod is bound', true, { kind: 'pod/bound', pod: info(web('x')) }, hard()],
    ['a pod that does not count leaves', false, { kind: 'pod/removed', pod: info(pod('x')) }, hard()],
    [
      'a counted pod begins to leave',
      true,
      { kind: 'pod/changed', before: info(web('x')), pod: info(web('x').deleting(0)) },
      hard(),
    ],
    [
      'a counted pod gets a label that does not matter',
      false,
      { kind: 'pod/changed', before: info(web('x')), pod: info(web('x').labels({ a: 'b' })) },
      hard(),
    ],
    ['a node comes with the label', true, { kind: 'node/added', node: nodes[0]! }, hard()],
    ['a node comes without the label', false, { kind: 'node/added', node: nodes[4]! }, hard()],
    ['a node goes', true, { kind: 'node/removed', nodeName: 'a1' }, hard()],
    ['taints change that do not count', false, { kind: 'node/taints', node: nodes[3]! }, hard()],
    ['taints change that count', true, { kind: 'node/taints', node: nodes[3]! }, hard({ nodeTaintsPolicy: 'Honor' })],
    [
      'anything happens to a pod that is only to be spread if possible',
      false,
      { kind: 'pod/removed', pod: info(web('x')) },
      soft(),
    ],
  ])('when %s, helps: %s', (_, helps, event, constraint) => {
    expect(plugin.helps?.(info(spread(constraint)), event)).toBe(helps);
  });
});
