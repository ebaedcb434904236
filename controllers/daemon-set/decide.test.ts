import { describe, expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { type DaemonViewParts, daemonPod, daemonSetOf, daemonViewOf, nodeNamed } from '../../test/builders/daemon-set.ts';
import { percent } from '../../test/builders/deployment.ts';
import { boundsOf, type DaemonPlan, decidePods, isUpdated } from './decide.ts';
import { decideUpdate } from './decide-update.ts';
import { computeStatus } from './status.ts';

const shown = ({ create, delete: deleted, ended, againInMs }: DaemonPlan): string =>
  [
    ...create.map((node) => `create on ${node}`),
    ...deleted.map(({ metadata }) => `delete ${metadata?.name}`),
    ...ended.map(({ pod, node }) => `${pod.metadata?.name} ended on ${node}`),
    ...(againInMs === undefined ? [] : [`again ${againInMs}`]),
  ].join(', ') || 'nothing';

const count = (intVal: number) => ({ type: 0, intVal });
const rolling = (maxUnavailable: number, maxSurge: number, minReadySeconds = 0) =>
  daemonSetOf({
    spec: {
      minReadySeconds,
      updateStrategy: {
        type: 'RollingUpdate',
        rollingUpdate: { maxUnavailable: count(maxUnavailable), maxSurge: count(maxSurge) },
      },
    },
  });
const ready = { readyFor: 60 };
const [a, b, c] = ['1', '2', '3'].map((n) => daemonPod(`p${n}`, `n${n}`, ready)) as [Pod, Pod, Pod];
const old = { ...ready, hash: 'h0' };
const noExecute = { key: 'x', effect: 'NoExecute' };
const noSchedule = { key: 'x', effect: 'NoSchedule' };
const two = (taint: typeof noExecute) => [nodeNamed('n1'), nodeNamed('n2', { taints: [taint] })];

describe('the pods of the nodes', () => {
  it.each<[string, DaemonViewParts, string]>([
    ['are made where there are none', { pods: [a] }, 'create on n2, create on n3'],
    ['are as they should be', { pods: [a, b, c] }, 'nothing'],
    ['are tied to a node before they are bound', { pods: [a, b, daemonPod('p3', 'n3', { isWaiting: true })] }, 'nothing'],
    ['wait for the one before to be gone', { pods: [a, b, daemonPod('p3', 'n3', { isLeaving: true })] }, 'nothing'],
    [
      'do not wait for one that has ended and leaves',
      { pods: [a, b, daemonPod('p3', 'n3', { isLeaving: true, phase: 'Failed' })] },
      'create on n3',
    ],
    ['stay where a taint keeps new ones away', { nodes: two(noSchedule), pods: [a, b] }, 'nothing'],
    ['are not made where a taint keeps them away', { nodes: two(noSchedule), pods: [a] }, 'nothing'],
    ['leave where a taint drives them away', { nodes: two(noExecute), pods: [a, b] }, 'delete p2'],
    ['that failed are deleted', { pods: [a, b, daemonPod('p3', 'n3', { phase: 'Failed' })] }, 'delete p3, p3 ended on n3'],
    ['that ended well are deleted', { pods: [a, b, daemonPod('p3', 'n3', { phase: 'Succeeded' })] }, 'delete p3, p3 ended on n3'],
    [
      'that failed just after another wait',
      { pods: [a, b, daemonPod('p3', 'n3', { phase: 'Failed' })], replaceableInMs: 700 },
      'again 700',
    ],
    [
      'are one each: the one that is bound stays, then the oldest',
      {
        pods: [
          daemonPod('waiting', 'n1', { isWaiting: true, age: 900 }),
          daemonPod('young', 'n1', { age: 10 }),
          daemonPod('old', 'n1', { age: 500 }),
          b,
          c,
        ],
      },
      'delete young, delete waiting',
    ],
    ['are one each: the one that serves stays', { pods: [daemonPod('old', 'n1', { age: 500 }), a, b, c] }, 'delete old'],
    [
      'that are tied to a node that does not exist are deleted',
      { pods: [a, b, c, daemonPod('p4', 'n4', { isWaiting: true })] },
      'delete p4',
    ],
    ['that were on a node that does not exist are left', { pods: [a, b, c, daemonPod('p4', 'n4', ready)] }, 'nothing'],
  ])('%s', (_, parts, outcome) => expect(shown(decidePods(daemonViewOf(parts)))).toBe(outcome));

  it('are made and deleted at most 250 at a time', () => {
    const nodes = Array.from({ length: 600 }, (_, nth) => nodeNamed(`n${nth}`));
    const pods = nodes.map(({ metadata }) => daemonPod(`p-${metadata?.name}`, metadata?.name ?? '', { phase: 'Failed' }));
    expect(decidePods(daemonViewOf({ nodes })).create).toHaveLength(250);
    expect(decidePods(daemonViewOf({ nodes, pods }))).toMatchObject({ delete: { length: 250 }, ended: { length: 250 } });
  });
});

it('looks at each node and pod a few times, however many there are', () => {
  let looks = 0;
  const counted = <T extends object>(object: T): T =>
    new Proxy(object, {
      get(target, name) {
        looks++;
        return Reflect.get(target, name);
      },
    });
  const looksAt = (many: number): number => {
    const names = Array.from({ length: many }, (_, nth) => `n${String(nth).padStart(4, '0')}`);
    const nodes = names.map((name) => counted(nodeNamed(name)));
    const view = daemonViewOf({ nodes, pods: names.map((name) => counted(daemonPod(name, name, old))) });
    looks = 0;
    expect(decidePods(view)).toMatchObject({ create: [], delete: [] });
    expect(decideUpdate(view).delete).toHaveLength(1);
    computeStatus(view);
    return looks;
  };
  expect(looksAt(1_000)).toBeLessThan(1_000 * 60);
  expect(looksAt(1_000) / looksAt(100)).toBeLessThan(12);
});

describe('the pods of nodes that may have two', () => {
  const set = rolling(0, 1, 30);
  const fresh = (readyFor?: number) => daemonPod('new', 'n1', { ...(readyFor !== undefined && { readyFor }), age: 5 });
  it.each<[string, DaemonViewParts, string]>([
    [
      'are an old one that is ready and a new one that is not available',
      { pods: [daemonPod('old', 'n1', old), fresh(5), b, c] },
      'nothing',
    ],
    ['are the new one when that is available', { pods: [daemonPod('old', 'n1', old), fresh(30), b, c] }, 'delete old'],
    [
      'are the new one when the old one is not ready',
      { pods: [daemonPod('old', 'n1', { hash: 'h0' }), fresh(), b, c] },
      'delete old',
    ],
    [
      'are the oldest of each',
      { pods: [daemonPod('old', 'n1', old), daemonPod('older', 'n1', { ...old, age: 900 }), fresh(), b, c] },
      'delete old',
    ],
    ['do not wait for one that leaves', { pods: [daemonPod('p1', 'n1', { isLeaving: true }), b, c] }, 'create on n1'],
    [
      'wait for one that failed to be deleted',
      { pods: [daemonPod('p1', 'n1', { phase: 'Failed' }), b, c] },
      'delete p1, p1 ended on n1',
    ],
  ])('%s', (_, parts, outcome) => expect(shown(decidePods(daemonViewOf({ set, ...parts })))).toBe(outcome));
});

describe('an update without a surge', () => {
  const olds = ['1', '2', '3'].map((n) => daemonPod(`p${n}`, `n${n}`, old));
  it.each<[string, DaemonViewParts, string]>([
    ['replaces as many as may be unavailable', { set: rolling(2, 0), pods: olds }, 'delete p1, delete p2'],
    [
      'waits for new pods to be available',
      { set: rolling(1, 0, 30), pods: [daemonPod('p1', 'n1', { readyFor: 5 }), olds[1]!, olds[2]!] },
      'nothing',
    ],
    ['counts nodes without a pod as unavailable', { set: rolling(1, 0), pods: [olds[1]!, olds[2]!] }, 'nothing'],
    [
      'replaces old pods that are not available at once, whatever the bound is',
      { set: rolling(1, 0), pods: [daemonPod('p1', 'n1', { hash: 'h0' }), daemonPod('p2', 'n2', { hash: 'h0' }), olds[2]!] },
      'delete p1, delete p2',
    ],
    [
      'is not held up by a pod that leaves a node for good',
      {
        set: rolling(1, 0),
        nodes: two(noSchedule),
        pods: [olds[0]!, daemonPod('p2', 'n2', { isLeaving: true })],
      },
      'delete p1',
    ],
    ['leaves a node with several pods to those', { set: rolling(1, 0), pods: [olds[0]!, a, olds[1]!, olds[2]!] }, 'nothing'],
    ['is done', { set: rolling(1, 0), pods: [a, b, c] }, 'nothing'],
    [
      'is left to deletions by hand',
      { set: daemonSetOf({ spec: { updateStrategy: { type: 'OnDelete' } } }), pods: olds },
      'nothing',
    ],
  ])('%s', (_, parts, outcome) => expect(shown(decideUpdate(daemonViewOf(parts)))).toBe(outcome));
});

describe('an update with a surge', () => {
  const set = rolling(0, 1);
  const olds = ['1', '2', '3'].map((n) => daemonPod(`old${n}`, `n${n}`, old)) as [Pod, Pod, Pod];
  const fresh = (node: string, parts = {}) => daemonPod(`new-${node}`, node, { age: 5, ...parts });
  it.each<[string, DaemonViewParts, string]>([
    ['makes as many new pods as it may', { pods: olds }, 'create on n1'],
    ['waits for the new pod', { pods: [...olds, fresh('n1')] }, 'nothing'],
    [
      'takes the old pod when the new one is available, and goes on',
      { pods: [...olds, fresh('n1', ready)] },
      'create on n2, delete old1',
    ],
    [
      'makes new pods for old ones that are not available, beyond the bound',
      { pods: [daemonPod('old1', 'n1', { hash: 'h0' }), daemonPod('old2', 'n2', { hash: 'h0' }), olds[2]] },
      'create on n1, create on n2, create on n3',
    ],
    [
      'takes an old pod that is not available where none is to be any more',
      { nodes: two(noSchedule), pods: [a, daemonPod('old2', 'n2', { hash: 'h0' })] },
      'delete old2',
    ],
    [
      'keeps an old pod where none is to be any more while others are missing',
      { nodes: [...two(noSchedule), nodeNamed('n3')], pods: [a, olds[1], fresh('n3')] },
      'nothing',
    ],
    ['takes it when enough are available', { nodes: two(noSchedule), pods: [a, olds[1]] }, 'delete old2'],
  ])('%s', (_, parts, outcome) => expect(shown(decideUpdate(daemonViewOf({ set, ...parts })))).toBe(outcome));
});

it.each([
  [percent('10%'), percent('0%'), 15, { maxUnavailable: 2, maxSurge: 0 }],
  [count(0), percent('1%'), 15, { maxUnavailable: 0, maxSurge: 1 }],
  [count(3), count(0), 15, { maxUnavailable: 3, maxSurge: 0 }],
  [percent('0%'), count(0), 15, { maxUnavailable: 1, maxSurge: 0 }],
])('of maxUnavailable %j and maxSurge %j on %i nodes the bounds are %j', (maxUnavailable, maxSurge, nodes, bounds) => {
  const set = daemonSetOf({ spec: { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable, maxSurge } } } });
  expect(boundsOf(set, nodes)).toEqual(bounds);
});

it.each([
  ['the same hash', { 'controller-revision-hash': 'h1' }, true],
  ['another hash, though the count is the same', { 'controller-revision-hash': 'h0', 'pod-template-generation': '4' }, false],
  ['no hash, and the same count', { 'pod-template-generation': '4' }, true],
  ['no hash, and another count', { 'pod-template-generation': '3' }, false],
  ['neither', {}, false],
])('a pod with %s is of the present template: %s', (_, labels, outcome) => {
  expect(isUpdated({ metadata: { labels } }, { set: daemonSetOf({ generation: 4 }), hash: 'h1' })).toBe(outcome);
});
