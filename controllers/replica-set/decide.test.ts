import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { burst, computeReplicaStatus, decideReplicas, nextStatusInMs, type ReplicaView } from './decide.ts';

const now = 1_800_000_000_000;
const at = (secondsAgo: number) => ({ seconds: now / 1000 - secondsAgo });

interface PodParts {
  readonly phase?: string;
  /** Seconds; absent: it is not ready. */
  readonly readyFor?: number;
  readonly isLeaving?: boolean;
  readonly labels?: Record<string, string>;
}

const podOf = (uid: string, { phase = 'Running', readyFor, isLeaving, labels = { app: 'a' } }: PodParts = {}): Pod => ({
  metadata: { uid, name: uid, labels, ...(isLeaving && { deletionTimestamp: at(1) }) },
  spec: { nodeName: 'n1' },
  status: {
    phase,
    conditions: readyFor === undefined ? [] : [{ type: 'Ready', status: 'True', lastTransitionTime: at(readyFor) }],
  },
});

const viewOf = (replicas: number, more: Partial<ReplicaView> = {}): ReplicaView => ({
  metadata: { name: 'web', generation: 2 },
  replicas,
  minReadySeconds: 0,
  selector: { matchLabels: { app: 'a' } },
  template: { metadata: { labels: { app: 'a' } } },
  status: {},
  countsTerminating: true,
  ...more,
});

const options = { onNode: () => new Map<string, number>(), now };
const plan = (view: ReplicaView, pods: readonly Pod[]): string => {
  const decided = decideReplicas(view, pods, options);
  if (decided.do === 'create') return `create ${decided.count}`;
  return decided.do === 'delete' ? `delete ${decided.pods.map(({ metadata }) => metadata?.uid)}` : decided.do;
};

describe('decideReplicas', () => {
  it.each<[string, ReplicaView, Pod[], string]>([
    ['makes the pods that are missing', viewOf(3), [podOf('a')], 'create 2'],
    ['makes another for one that has ended', viewOf(1), [podOf('a', { phase: 'Failed' })], 'create 1'],
    ['makes another for one that is on its way out', viewOf(1), [podOf('a', { isLeaving: true })], 'create 1'],
    [
      'deletes those that are too many, the one that is not ready first',
      viewOf(1),
      [podOf('a', { readyFor: 9 }), podOf('b')],
      'delete b',
    ],
    ['does nothing when there are as many as wanted', viewOf(1), [podOf('a')], 'nothing'],
    ['makes no more than a burst at a time', viewOf(burst + 9), [], `create ${burst}`],
    ['leaves everything when its owner is being deleted', viewOf(3, { metadata: { deletionTimestamp: at(1) } }), [], 'nothing'],
  ])('%s', (_, view, pods, outcome) => expect(plan(view, pods)).toBe(outcome));

  it('comes to the wanted number from any pods and keeps it, and deletes only what is active', () => {
    const part = fc.record({
      phase: fc.constantFrom('Pending', 'Running', 'Succeeded', 'Failed'),
      isLeaving: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.nat(30), fc.array(part, { maxLength: 40 }), (replicas, parts) => {
        let pods = parts.map((each, nth) => podOf(`p${nth}`, each));
        let made = 0;
        for (let turn = 0; turn < 5; turn++) {
          const decided = decideReplicas(viewOf(replicas), pods, options);
          if (decided.do === 'create') pods = [...pods, ...Array.from({ length: decided.count }, () => podOf(`m${made++}`))];
          if (decided.do === 'delete') {
            expect(decided.pods.every((pod) => pods.includes(pod) && !pod.metadata?.deletionTimestamp)).toBe(true);
            pods = pods.filter((pod) => !decided.pods.includes(pod));
          }
        }
        const active = pods.filter(
          ({ metadata, status }) => !metadata?.deletionTimestamp && !/Succ|Fail/.test(status?.phase ?? ''),
        );
        expect(active).toHaveLength(replicas);
        expect(decideReplicas(viewOf(replicas), pods, options).do).toBe('nothing');
      }),
    );
  });
});

describe('computeReplicaStatus', () => {
  const pods = [
    podOf('a', { readyFor: 100 }),
    podOf('b', { readyFor: 5, labels: { other: 'x' } }),
    podOf('c'),
    podOf('d', { isLeaving: true }),
    podOf('e', { phase: 'Failed' }),
    podOf('f', { phase: 'Succeeded', isLeaving: true }),
  ];

  it('counts pods that are there, ready, available, labelled as the template, and on their way out', () =>
    expect(computeReplicaStatus({ view: viewOf(3, { minReadySeconds: 10 }), owned: pods, failure: undefined, now })).toEqual({
      replicas: 3,
      fullyLabeledReplicas: 2,
      readyReplicas: 2,
      availableReplicas: 1,
      terminatingReplicas: 1,
      observedGeneration: 2,
      conditions: [],
    }));

  it('is undefined when nothing has changed', () => {
    const view = viewOf(3);
    const status = computeReplicaStatus({ view, owned: pods, failure: undefined, now })!;
    expect(
      computeReplicaStatus({ view: { ...view, status }, owned: pods, failure: undefined, now: now + 1_000 }),
    ).toBeUndefined();
  });

  it('says what failed since when, and takes it back', () => {
    const view = viewOf(3);
    const failure = { reason: 'FailedCreate', message: 'pods "web-a" is forbidden: exceeded quota' } as const;
    const failed = computeReplicaStatus({ view, owned: [], failure, now })!;
    expect(failed.conditions).toEqual([
      { type: 'ReplicaFailure', status: 'True', lastTransitionTime: { seconds: now / 1000 }, ...failure },
    ]);
    const again = { view: { ...view, status: failed }, owned: [], failure, now: now + 60_000 };
    expect(computeReplicaStatus(again)).toBeUndefined();
    const other = { ...failure, message: 'pods "web-b" is forbidden: no account' } as const;
    expect(computeReplicaStatus({ ...again, failure: other })?.conditions).toMatchObject([{ message: other.message }]);
    expect(computeReplicaStatus({ ...again, failure: undefined })?.conditions).toEqual([]);
  });
});

it('a status is looked at again when the next pod has been ready for long enough', () => {
  const view = viewOf(2, { minReadySeconds: 30 });
  expect(nextStatusInMs(view, [podOf('a', { readyFor: 10 }), podOf('b', { readyFor: 25 }), podOf('c')], now)).toBe(5_000);
  expect(nextStatusInMs(view, [podOf('a', { readyFor: 40 })], now)).toBeUndefined();
});
