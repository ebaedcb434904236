import { expect, it } from 'vitest';
import { type DaemonViewParts, daemonPod, daemonSetOf, daemonViewOf, nodeNamed } from '../../test/builders/daemon-set.ts';
import { computeStatus } from './status.ts';

const nodes = [
  ...['n1', 'n2', 'n3', 'n4'].map((name) => nodeNamed(name)),
  nodeNamed('n5', { taints: [{ key: 'x', effect: 'NoSchedule' }] }),
];
const set = daemonSetOf({ spec: { minReadySeconds: 30 } });
const status = (parts: DaemonViewParts) => computeStatus(daemonViewOf({ set, nodes, ...parts }));
const pods = [
  daemonPod('p1', 'n1', { readyFor: 60 }),
  daemonPod('p2', 'n2', { readyFor: 5, hash: 'h0' }),
  daemonPod('p3', 'n3'),
  daemonPod('p5', 'n5', { readyFor: 60 }),
];

it('counts nodes that are to have a pod, and their pods that are there, ready, available and of the present template', () => {
  expect(status({ pods })).toEqual({
    observedGeneration: 1,
    desiredNumberScheduled: 4,
    currentNumberScheduled: 3,
    numberMisscheduled: 1,
    numberReady: 2,
    updatedNumberScheduled: 2,
    numberAvailable: 1,
    numberUnavailable: 3,
    conditions: [],
  });
});

it('counts one pod of a node, the oldest', () => {
  const two = [daemonPod('new', 'n1', { readyFor: 60, age: 5 }), daemonPod('old', 'n1', { hash: 'h0' })];
  expect(status({ pods: two })).toMatchObject({ currentNumberScheduled: 1, numberReady: 0, updatedNumberScheduled: 0 });
});

it('keeps the count of collisions, and is not written when it is so', () => {
  const before = { ...status({ pods })!, collisionCount: 2 };
  const same = daemonSetOf({ spec: { minReadySeconds: 30 }, status: before });
  expect(status({ set: same, pods })).toBeUndefined();
  expect(status({ set: same, pods: [] })).toMatchObject({ collisionCount: 2, numberReady: 0 });
});
