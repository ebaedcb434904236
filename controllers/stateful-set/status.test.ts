import { expect, it } from 'vitest';
import type { Pod, StatefulSet, StatefulSetSpec } from '../../api/generated/types.ts';
import { now, podAt, statefulSetOf } from '../../test/builders/stateful-set.ts';
import { computeStatus } from './status.ts';

const ready = { readyFor: 60 };

function status(pods: readonly Pod[], spec: StatefulSetSpec = {}, update = 'r2', before: StatefulSet['status'] = {}) {
  return computeStatus({ set: statefulSetOf(spec, before), pods, current: 'r1', update, now });
}

it('counts pods that are there, ready, available, and of each revision', () => {
  const pods = [podAt(0, { readyFor: 60 }), podAt(1, { readyFor: 5 }), podAt(2, { revision: 'r2', isLeaving: true })];
  expect(status(pods, { minReadySeconds: 30 })).toEqual({
    observedGeneration: 1,
    replicas: 3,
    readyReplicas: 2,
    availableReplicas: 1,
    currentReplicas: 2,
    updatedReplicas: 0,
    currentRevision: 'r1',
    updateRevision: 'r2',
    collisionCount: 0,
    conditions: [],
  });
});

it('is complete when all pods are of the present template and ready, and then names it the current one', () => {
  const updated = [0, 1, 2].map((ordinal) => podAt(ordinal, { ...ready, revision: 'r2' }));
  expect(status(updated)).toMatchObject({ currentRevision: 'r2', currentReplicas: 3 });
  expect(status(updated.slice(1))).toMatchObject({ currentRevision: 'r1', currentReplicas: 0 });
  expect(status([...updated, podAt(3, ready)])).toMatchObject({ currentRevision: 'r1' });
  expect(status(updated, { updateStrategy: { type: 'OnDelete' } })).toMatchObject({ currentRevision: 'r1' });
  expect(status([], { replicas: 0 })).toMatchObject({ currentRevision: 'r2' });
});

it('passes over pods that are none of its ordinals', () => {
  const other = { ...podAt(0, ready), metadata: { ...podAt(0).metadata, name: 'web-x' } };
  expect(status([other])).toMatchObject({ replicas: 0, readyReplicas: 0 });
});

it('is not written when it is so', () => {
  const pods = [podAt(0, ready)];
  const before = status(pods);
  expect(status(pods, {}, 'r2', before)).toBeUndefined();
  expect(status(pods, {}, 'r2', { ...before!, collisionCount: 2 })).toBeUndefined();
});
