import { describe, expect, it } from 'vitest';
import type { Pod, PodDisruptionBudget } from '../../api/generated/types.ts';
import { node, type PodBuilder, pod } from '../../test/builders/index.ts';
import { preempt } from '../../test/builders/preempt.ts';

/** A running pod on a node: its priority and processors, and when it began, in seconds. */
const low = (name: string, on: string, priority: number, cpu: string, startedAt = 0) =>
  pod(name)
    .on(on)
    .priority(priority)
    .requests({ cpu })
    .status({ phase: 'Running', startTime: { seconds: startedAt } });
const high = pod('high').priority(100).requests({ cpu: '2' });
const n = (name: string, cpu = '4') => node(name).capacity({ cpu });
const budget = (app: string, disruptionsAllowed: number, disrupted: readonly string[] = []): PodDisruptionBudget => ({
  metadata: { name: app, namespace: 'default' },
  spec: { selector: { matchLabels: { app } } },
  status: { disruptionsAllowed, disruptedPods: Object.fromEntries(disrupted.map((name) => [name, { seconds: 1 }])) },
});

interface Case {
  readonly title: string;
  readonly nodes?: readonly string[];
  readonly pods: readonly Pod[];
  readonly budgets?: readonly PodDisruptionBudget[];
  readonly preemptor?: Pod;
  /** "node: victims", the most important first. */
  readonly chosen: string | undefined;
}

const web = { matchLabels: { app: 'web' } };
const avoiding = (built: PodBuilder) =>
  built.spec({
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'kubernetes.io/hostname', labelSelector: web }],
      },
    },
  });

const cases: readonly Case[] = [
  {
    title: 'takes away those alone that it must not be near',
    preemptor: avoiding(high.requests({ cpu: '1' })).build(),
    pods: [low('a', 'n1', 1, '1').build(), low('b', 'n1', 2, '1').labels({ app: 'web' }).build()],
    chosen: 'n1: b',
  },
  {
    title: 'takes away those alone that must not be near it',
    preemptor: high.requests({ cpu: '1' }).labels({ app: 'web' }).build(),
    pods: [low('a', 'n1', 1, '1').build(), avoiding(low('b', 'n1', 2, '1')).build(), avoiding(low('c', 'n1', 3, '1')).build()],
    chosen: 'n1: c b',
  },
  {
    title: 'does nothing where one that it must not be near is as important as it is',
    preemptor: avoiding(high.requests({ cpu: '1' })).build(),
    pods: [low('a', 'n1', 1, '1').build(), low('b', 'n1', 200, '1').labels({ app: 'web' }).build()],
    chosen: undefined,
  },
  {
    title: 'takes away as many as spreading over nodes wants, from those that count',
    nodes: ['n1', 'n2'],
    preemptor: high
      .requests({ cpu: '1' })
      .labels({ app: 'web' })
      .nodeSelector({ 'kubernetes.io/hostname': 'n1' })
      .spec({
        topologySpreadConstraints: [
          {
            ...{ topologyKey: 'kubernetes.io/hostname', maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule' },
            ...{ labelSelector: web, nodeAffinityPolicy: 'Ignore' },
          },
        ],
      })
      .build(),
    pods: [
      low('other', 'n1', 1, '1').build(),
      low('a', 'n1', 2, '1').labels({ app: 'web' }).build(),
      low('b', 'n1', 3, '1').labels({ app: 'web' }).build(),
      low('c', 'n2', 4, '1').labels({ app: 'web' }).build(),
    ],
    chosen: 'n1: a',
  },
  {
    title: 'takes the least important pods away, and no more than it must',
    pods: [low('a', 'n1', 1, '1').build(), low('b', 'n1', 2, '1').build(), low('c', 'n1', 3, '2').build()],
    chosen: 'n1: b a',
  },
  {
    title: 'takes away one large pod rather than two that are more important',
    pods: [low('a', 'n1', 5, '1').build(), low('b', 'n1', 5, '1').build(), low('c', 'n1', 1, '2').build()],
    chosen: 'n1: c',
  },
  {
    title: 'among equals takes away what has run for the shortest time',
    pods: [low('old', 'n1', 1, '2', 10).build(), low('young', 'n1', 1, '2', 20).build()],
    chosen: 'n1: young',
  },
  {
    title: 'leaves pods alone that are as important as it is',
    pods: [low('a', 'n1', 100, '3').build(), low('b', 'n1', 200, '1').build()],
    chosen: undefined,
  },
  {
    title: 'does nothing where it would not fit without all others',
    preemptor: pod('high').priority(100).requests({ cpu: '5' }).build(),
    pods: [low('a', 'n1', 1, '4').build()],
    chosen: undefined,
  },
  {
    title: 'does nothing where what is more important leaves no room',
    pods: [low('a', 'n1', 1, '1').build(), low('b', 'n1', 500, '3').build()],
    chosen: undefined,
  },
  {
    title: 'leaves pods alone that a file on the node makes',
    pods: [low('a', 'n1', 1, '4').annotations({ 'kubernetes.io/config.mirror': 'x' }).build()],
    chosen: undefined,
  },
  {
    title: 'does nothing with preemptionPolicy Never',
    preemptor: high.spec({ preemptionPolicy: 'Never' }).build(),
    pods: [low('a', 'n1', 1, '4').build()],
    chosen: undefined,
  },
  {
    title: 'prefers the node whose most important victim is the least important',
    nodes: ['n1', 'n2'],
    pods: [low('a', 'n1', 9, '4').build(), low('b', 'n2', 8, '2').build(), low('c', 'n2', 8, '2').build()],
    chosen: 'n2: c',
  },
  {
    title: 'then the one with the lowest sum of priorities',
    nodes: ['n1', 'n2'],
    pods: [
      ...[low('a', 'n1', 9, '2').build(), low('b', 'n1', 7, '2').build()].map((each) => withCpu(each, '2')),
      low('c', 'n2', 9, '2').build(),
      low('d', 'n2', 6, '2').build(),
    ],
    preemptor: pod('high').priority(100).requests({ cpu: '4' }).build(),
    chosen: 'n2: c d',
  },
  {
    title: 'then the one with the fewest victims',
    nodes: ['n1', 'n2'],
    pods: [low('a', 'n1', 1, '2').build(), low('b', 'n1', 1, '2').build(), low('c', 'n2', 1, '4').build()],
    preemptor: pod('high').priority(100).requests({ cpu: '4' }).build(),
    chosen: 'n2: c',
  },
  {
    title: 'then the one whose victim began last',
    nodes: ['n1', 'n2'],
    pods: [low('a', 'n1', 1, '4', 10).build(), low('b', 'n2', 1, '4', 20).build()],
    chosen: 'n2: b',
  },
  {
    title: 'breaks no budget where another node does without',
    nodes: ['n1', 'n2'],
    pods: [low('a', 'n1', 1, '4').labels({ app: 'web' }).build(), low('b', 'n2', 50, '4').build()],
    budgets: [budget('web', 0)],
    chosen: 'n2: b',
  },
  {
    title: 'spares pods of a budget that allows none, even for more important ones',
    pods: [low('a', 'n1', 1, '2').labels({ app: 'web' }).build(), low('b', 'n1', 9, '2').build()],
    budgets: [budget('web', 0)],
    chosen: 'n1: b',
  },
  {
    title: 'breaks a budget when there is no other way',
    pods: [low('a', 'n1', 1, '4').labels({ app: 'web' }).build()],
    budgets: [budget('web', 0)],
    chosen: 'n1: a',
  },
  {
    title: 'counts pods whose disruption a budget has counted as free',
    nodes: ['n1', 'n2'],
    pods: [low('a', 'n1', 1, '4').labels({ app: 'web' }).build(), low('b', 'n2', 9, '4').build()],
    budgets: [budget('web', 0, ['a'])],
    chosen: 'n1: a',
  },
  {
    title: 'takes away who has the host port',
    preemptor: pod('high')
      .priority(100)
      .container('main', { ports: [{ containerPort: 80, hostPort: 80, protocol: 'TCP' }] })
      .build(),
    pods: [
      low('a', 'n1', 1, '1')
        .container('main', { ports: [{ containerPort: 80, hostPort: 80, protocol: 'TCP' }] })
        .build(),
      low('b', 'n1', 0, '1').build(),
    ],
    chosen: 'n1: a',
  },
];

function withCpu(made: Pod, cpu: string): Pod {
  made.spec!.containers![0]!.resources = { requests: { cpu: { string: cpu } } };
  return made;
}

describe('a pod that fits nowhere', () => {
  it.each(cases)('$title', ({ nodes = ['n1'], pods, budgets = [], preemptor = high.build(), chosen }) => {
    expect(preempt(preemptor, { nodes: nodes.map((name) => n(name).build()), pods, budgets }).chosen).toBe(chosen);
  });

  it('does not look at nodes that it could not use without their pods', () => {
    const nodes = [n('n1').taint('k', 'NoSchedule').build(), n('n2').ready(false).build()];
    const pods = [low('a', 'n1', 1, '4').build(), low('b', 'n2', 1, '4').build()];
    expect(preempt(high.build(), { nodes, pods }).chosen).toBeUndefined();
  });

  it('leaves the table as it was', () => {
    const pods = [low('a', 'n1', 1, '1500m').build(), low('b', 'n1', 2, '2500m').build()];
    const { before, after } = preempt(high.build(), { nodes: [n('n1').build()], pods });
    expect(after).toEqual(before);
  });

  it('waits, and takes no more away, while pods leave the node that it is nominated to', () => {
    const condition = { type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' };
    const leaving = low('a', 'n1', 1, '2').deleting(0).condition(condition).build();
    const nodes = [n('n1', '2').build(), n('n2').build()];
    const pods = [leaving, low('b', 'n2', 1, '4').build()];
    expect(preempt(high.build(), { nodes, pods, nominatedTo: 'n1' }).chosen).toBe('n1: ');
    expect(preempt(high.build(), { nodes, pods, leaving: ['uid-a'], nominatedTo: 'n1' }).chosen).toBe('n1: ');
  });
});
