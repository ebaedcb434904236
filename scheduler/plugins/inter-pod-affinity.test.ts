import { describe, expect, it } from 'vitest';
import type { LabelSelector, PodAffinityTerm } from '../../api/generated/types.ts';
import { node, type PodBuilder, pod } from '../../test/builders/index.ts';
import { judge } from '../../test/builders/judge.ts';
import type { ClusterEvent } from '../framework/plugin.ts';
import { podInfo } from '../framework/pod-info.ts';
import { interPodAffinity } from './inter-pod-affinity.ts';

const plugin = interPodAffinity();
const nodes = [
  node('a1').labels({ zone: 'a' }).build(),
  node('a2').labels({ zone: 'a' }).build(),
  node('b1').labels({ zone: 'b' }).build(),
  node('none').build(),
];
const app = (value: string): LabelSelector => ({ matchLabels: { app: value } });
const near = (value: string, topologyKey = 'zone', more: PodAffinityTerm = {}): PodAffinityTerm => ({
  topologyKey,
  labelSelector: app(value),
  ...more,
});
const requiring = (name: string, ...terms: PodAffinityTerm[]) =>
  pod(name).spec({ affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } } });
const avoiding = (name: string, ...terms: PodAffinityTerm[]) =>
  pod(name).spec({ affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } } });
const preferring = (name: string, kind: 'podAffinity' | 'podAntiAffinity', ...terms: [number, PodAffinityTerm][]) =>
  pod(name).spec({
    affinity: {
      [kind]: {
        preferredDuringSchedulingIgnoredDuringExecution: terms.map(([weight, podAffinityTerm]) => ({ weight, podAffinityTerm })),
      },
    },
  });
const db = pod('db').labels({ app: 'db' });

const affinity = "node(s) didn't match pod affinity rules";
const anti = "node(s) didn't match pod anti-affinity rules";
const existing = "node(s) didn't satisfy existing pods anti-affinity rules";
const verdicts = (a1: string, a2: string, b1: string, none: string) => ({ a1, a2, b1, none });
const passing = (wanted: PodBuilder, ...pods: PodBuilder[]) => {
  const { filter } = judge(plugin, { pod: wanted.build(), nodes, pods: pods.map((each) => each.build()) });
  return Object.entries(filter)
    .filter(([, verdict]) => verdict === 'passes')
    .map(([name]) => name);
};

describe('InterPodAffinity', () => {
  it('keeps a pod in the domains of the pods that it requires', () => {
    const judged = judge(plugin, { pod: requiring('p', near('db')).build(), nodes, pods: [db.on('a1').build()] });
    expect(judged.filter).toEqual(verdicts('passes', 'passes', affinity, affinity));
    expect(judged.codes.b1).toBe('unresolvable');
    expect(judged.why).toMatchObject({
      b1: "no pod that the pod's affinity requires is in zone=b",
      none: "the node has no label zone, which the pod's affinity is about",
    });
  });

  it('keeps a pod out of the domains of the pods that it avoids; a node without the label is in none', () => {
    const judged = judge(plugin, { pod: avoiding('p', near('db')).build(), nodes, pods: [db.on('a1').build()] });
    expect(judged.filter).toEqual(verdicts(anti, anti, 'passes', 'passes'));
    expect(judged.codes.a2).toBe('unschedulable');
    expect(judged.why.a2).toBe("the pod's anti-affinity keeps it away from default/db, in zone=a");
  });

  it('keeps a pod out of the domains of pods that avoid it', () => {
    const shy = avoiding('shy', near('web')).on('a1').build();
    const judged = judge(plugin, { pod: pod('p').labels({ app: 'web' }).build(), nodes, pods: [shy] });
    expect(judged.filter).toEqual(verdicts(existing, existing, 'passes', 'passes'));
    expect(judged.codes.a2).toBe('unschedulable');
    expect(judged.why.a2).toBe('the anti-affinity of default/shy, in zone=a, keeps the pod away');
    expect(passing(pod('p').labels({ app: 'other' }), avoiding('shy', near('web')).on('a1'))).toHaveLength(4);
  });

  it.each<[string, string[], PodBuilder, PodBuilder[]]>([
    ['a required pod that is nowhere', [], requiring('p', near('db')), []],
    ['a selector that is absent, which selects nothing', [], requiring('p', { topologyKey: 'zone' }), [db.on('a1')]],
    [
      'an empty selector, which selects everything',
      ['a1', 'a2'],
      requiring('p', { topologyKey: 'zone', labelSelector: {} }),
      [db.on('a1')],
    ],
    [
      'the first of its kind, anywhere with the label',
      ['a1', 'a2', 'b1'],
      requiring('p', near('web')).labels({ app: 'web' }),
      [],
    ],
    [
      'the second of its kind',
      ['b1'],
      requiring('p', near('web')).labels({ app: 'web' }),
      [pod('web').labels({ app: 'web' }).on('b1')],
    ],
    [
      'one where the only other of its kind is on a node without the label',
      ['a1', 'a2', 'b1'],
      requiring('p', near('web')).labels({ app: 'web' }),
      [pod('web').labels({ app: 'web' }).on('none')],
    ],
    [
      'two terms, which one and the same pod must fulfil',
      ['a1'],
      requiring('p', near('db'), { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { tier: 'x' } } }),
      [db.labels({ tier: 'x' }).on('a1'), pod('other').labels({ tier: 'x' }).on('a2')],
    ],
    ['anti-affinity by machine', ['a2', 'b1', 'none'], avoiding('p', near('db', 'kubernetes.io/hostname')), [db.on('a1')]],
    [
      'any of two anti-affinity terms',
      ['none'],
      avoiding('p', near('db'), near('web')),
      [db.on('a1'), pod('w').labels({ app: 'web' }).on('b1')],
    ],
    [
      'pods of another namespace, which it does not mean',
      ['a1', 'a2', 'b1', 'none'],
      avoiding('p', near('db')),
      [db.namespace('x').on('a1')],
    ],
    [
      'pods of another namespace that it names',
      ['b1', 'none'],
      avoiding('p', near('db', 'zone', { namespaces: ['x'] })),
      [db.namespace('x').on('a1'), pod('own').labels({ app: 'db' }).on('b1')],
    ],
    [
      'all namespaces, with an empty selector of them',
      ['b1', 'none'],
      avoiding('p', near('db', 'zone', { namespaceSelector: {} })),
      [db.namespace('x').on('a1')],
    ],
    ['pods that are being deleted, which still are there', ['b1', 'none'], avoiding('p', near('db')), [db.on('a1').deleting(0)]],
  ])('judges %s', (_, names, wanted, pods) => {
    expect(passing(wanted, ...pods)).toEqual(names);
  });

  it('finds namespaces by their labels, and those that an existing pod means likewise', () => {
    const red = near('db', 'zone', { namespaceSelector: { matchLabels: { team: 'red' } } });
    const namespaces = { x: { team: 'red' }, y: { team: 'blue' } };
    const at = (namespace: string) => [db.namespace(namespace).on('a1').build()];
    const own = avoiding('p', red).build();
    expect(judge(plugin, { pod: own, nodes, pods: at('x'), namespaces }).filter.a2).toBe(anti);
    expect(judge(plugin, { pod: own, nodes, pods: at('y'), namespaces }).filter.a2).toBe('passes');
    const shy = [avoiding('shy', red).on('a1').build()];
    const coming = (namespace: string) => db.namespace(namespace).build();
    expect(judge(plugin, { pod: coming('x'), nodes, pods: shy, namespaces }).filter.a2).toBe(existing);
    expect(judge(plugin, { pod: coming('y'), nodes, pods: shy, namespaces }).filter.a2).toBe('passes');
  });

  it('adds up the weights of preferences in the domain of each node, against each other', () => {
    const wanted = preferring('p', 'podAffinity', [30, near('db')], [10, near('cache', 'kubernetes.io/hostname')]).build();
    const pods = [
      db.on('a1').build(),
      pod('c1').labels({ app: 'cache' }).on('a2').build(),
      pod('c2').labels({ app: 'cache' }).on('b1').build(),
    ];
    expect(judge(plugin, { pod: wanted, nodes, pods }).scores).toEqual({ a1: 75, a2: 100, b1: 25, none: 0 });
    const away = preferring('p', 'podAntiAffinity', [5, near('db')]).build();
    expect(judge(plugin, { pod: away, nodes, pods }).scores).toEqual({ a1: 0, a2: 0, b1: 100, none: 100 });
  });

  it('hears the preferences of pods that are there, and their requirements with the weight of the argument', () => {
    const wanted = pod('p').labels({ app: 'web' }).build();
    const pods = [
      preferring('fan', 'podAffinity', [4, near('web')])
        .on('b1')
        .build(),
      requiring('needy', near('web')).on('a1').build(),
      preferring('shy', 'podAntiAffinity', [4, near('web', 'kubernetes.io/hostname')])
        .on('none')
        .build(),
    ];
    expect(judge(plugin, { pod: wanted, nodes, pods }).scores).toEqual({ a1: 62.5, a2: 62.5, b1: 100, none: 0 });
    const heavy = interPodAffinity({ hardPodAffinityWeight: 4 });
    expect(judge(heavy, { pod: wanted, nodes, pods }).scores).toEqual({ a1: 100, a2: 100, b1: 100, none: 0 });
    const deaf = interPodAffinity({ ignorePreferredTermsOfExistingPods: true });
    expect(judge(deaf, { pod: wanted, nodes, pods }).scores).toEqual({});
  });

  it('has no opinion where no pod has terms', () => {
    expect(judge(plugin, { pod: pod('p').build(), nodes, pods: [db.on('a1').build()] })).toMatchObject({
      scores: {},
      filter: { a1: 'passes' },
    });
  });

  const info = (built: PodBuilder) => podInfo(built.build());
  const asking = info(requiring('p', near('db')));
  const fleeing = info(avoiding('p', near('db')).labels({ app: 'web' }));
  it.each<[string, boolean, typeof asking, ClusterEvent]>([
    ['a pod that it requires is bound', true, asking, { kind: 'pod/bound', pod: info(db) }],
    ['another is bound', false, asking, { kind: 'pod/bound', pod: info(pod('x')) }],
    ['a pod becomes one that it requires', true, asking, { kind: 'pod/changed', before: info(pod('x')), pod: info(db) }],
    ['a pod that it avoids leaves', true, fleeing, { kind: 'pod/removed', pod: info(db) }],
    ['another leaves', false, fleeing, { kind: 'pod/removed', pod: info(pod('x')) }],
    ['a pod that avoids it leaves', true, fleeing, { kind: 'pod/removed', pod: info(avoiding('x', near('web'))) }],
    ['a pod that it avoids is one no more', true, fleeing, { kind: 'pod/changed', before: info(db), pod: info(pod('x')) }],
    ['a pod that it avoids begins to end', false, fleeing, { kind: 'pod/changed', before: info(db), pod: info(db.deleting(0)) }],
    ['a pod that it requires begins to end', false, asking, { kind: 'pod/changed', before: info(db), pod: info(db.deleting(0)) }],
    ['a node comes with the label', true, asking, { kind: 'node/added', node: nodes[0]! }],
    ['a node comes without the label', false, asking, { kind: 'node/added', node: nodes[3]! }],
    ['a namespace gets other labels', true, asking, { kind: 'namespace/changed', namespace: 'x' }],
  ])('when %s, helps: %s', (_, helps, waiting, event) => {
    expect(plugin.helps?.(waiting, event)).toBe(helps);
  });
});
