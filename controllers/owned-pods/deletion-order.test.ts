import { describe, expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { workloadAnnotations } from '../../api/meta/workload-names.ts';
import { countOnNodes, deletionCost, inDeletionOrder } from './deletion-order.ts';

const now = 1_800_000_000_000;
const ago = (seconds: number) => ({ seconds: now / 1000 - seconds });

interface Parts {
  readonly node?: string;
  readonly phase?: string;
  /** For how many seconds; absent: it is not ready. */
  readonly readyFor?: number;
  readonly cost?: string;
  readonly restarts?: number;
  readonly age?: number;
}

function podOf(uid: string, { node = 'n1', phase = 'Running', readyFor, cost, restarts, age = 1000 }: Parts): Pod {
  const ready = readyFor === undefined ? [] : [{ type: 'Ready', status: 'True', lastTransitionTime: ago(readyFor) }];
  return {
    metadata: {
      uid,
      creationTimestamp: ago(age),
      ...(cost !== undefined && { annotations: { [workloadAnnotations.podDeletionCost]: cost } }),
    },
    spec: { nodeName: node },
    status: { phase, conditions: ready, containerStatuses: [{ name: 'c', restartCount: restarts ?? 0 }] },
  };
}

const first = (a: Parts, b: Parts): string => {
  // Under uids that would say otherwise.
  const pods = [podOf('z', a), podOf('a', b)];
  const [gone] = inDeletionOrder(pods, { onNode: countOnNodes(pods), now });
  return gone?.metadata?.uid === 'z' ? 'first' : 'second';
};

describe('inDeletionOrder', () => {
  it.each<[string, Parts, Parts]>([
    ['an unassigned pod before an assigned one that is Pending', { node: '', phase: 'Pending' }, { phase: 'Pending' }],
    ['a Pending pod before one of which nothing is known', { phase: 'Pending' }, { phase: 'Unknown' }],
    ['one of which nothing is known before a Running one', { phase: 'Unknown' }, { readyFor: 10 }],
    ['one that is not ready before one that is', { cost: '100' }, { readyFor: 10, cost: '-100' }],
    ['the one that costs less', { readyFor: 1000, cost: '1' }, { readyFor: 10, cost: '2' }],
    ['the one that has been ready for the shorter time', { readyFor: 10 }, { readyFor: 1000 }],
    ['the one that restarted more often', { readyFor: 100, restarts: 3 }, { readyFor: 100, restarts: 1 }],
    ['the younger one', { readyFor: 100, age: 100 }, { readyFor: 100, age: 10_000 }],
  ])('takes %s', (_, goes, stays) => expect([first(goes, stays), first(stays, goes)]).toEqual(['first', 'second']));

  it('takes the pod that shares its node with another of its set before one that is alone', () => {
    const pods = [podOf('alone', { node: 'n2', readyFor: 10 }), podOf('b', { readyFor: 1000 }), podOf('c', { readyFor: 1000 })];
    const order = inDeletionOrder(pods, { onNode: countOnNodes(pods), now }).map(({ metadata }) => metadata?.uid);
    expect(order).toEqual(['b', 'c', 'alone']);
  });

  it('passes over pods of the same node that have ended or are leaving', () => {
    const leaving = podOf('leaving', { node: 'n2', readyFor: 1000 });
    leaving.metadata = { ...leaving.metadata, deletionTimestamp: ago(1) };
    const pods = [podOf('alone', { node: 'n2', readyFor: 1000 }), podOf('b', { readyFor: 1000 }), podOf('c', { readyFor: 1000 })];
    const all = [...pods, leaving, podOf('failed', { node: 'n2', phase: 'Failed' })];
    expect(countOnNodes(all)).toEqual(
      new Map([
        ['n2', 1],
        ['n1', 2],
      ]),
    );
    const order = inDeletionOrder(pods, { onNode: countOnNodes(all), now }).map(({ metadata }) => metadata?.uid);
    expect(order.at(-1)).toBe('alone');
  });

  it('is the same whatever the order in which the pods come', () => {
    const pods = ['a', 'b', 'c'].map((uid) => podOf(uid, { readyFor: 100 }));
    const options = { onNode: countOnNodes(pods), now };
    expect(inDeletionOrder(pods.toReversed(), options)).toEqual(inDeletionOrder(pods, options));
  });
});

describe('deletionCost', () => {
  it.each([
    ['7', 7],
    ['-2147483648', -2147483648],
    ['2147483648', 0],
    ['01', 0],
    ['1.5', 0],
    ['much', 0],
    ['', 0],
  ])('reads %j as %d', (text, cost) => expect(deletionCost(podOf('a', { cost: text }))).toBe(cost));
});
