import { describe, expect, it } from 'vitest';
import type { StatefulSetSpec } from '../../api/generated/types.ts';
import { percent } from '../../test/builders/deployment.ts';
import { claimNamed, podAt, secondsAgo, setViewOf, statefulSetOf, type ViewParts } from '../../test/builders/stateful-set.ts';
import { decideReplicas, isActing, type SetPlan } from './decide.ts';
import { ordinalOf, wishesOf } from './replicas.ts';

function shown({ owners, conflicts, relabel, make, delete: deleted, blocked, againInMs }: SetPlan): string {
  const parts = [
    ...owners.map(({ claim, references }) => `own ${claim.metadata?.name} by ${references.map(({ name }) => name)}`),
    ...conflicts.map(({ metadata }) => `conflict ${metadata?.name}`),
    ...relabel.map(({ pod }) => `relabel ${pod.metadata?.name}`),
    ...make.map(({ ordinal, claims, revision }) =>
      [`make ${ordinal}`, ...claims.map(({ metadata }) => metadata?.name), revision?.metadata?.name].filter(Boolean).join(' '),
    ),
    ...deleted.map(({ metadata }) => `delete ${metadata?.name?.slice(4)}`),
    ...blocked.map(({ pod, why }) => `blocked ${pod}: ${why}`),
    ...(againInMs === undefined ? [] : [`again ${againInMs}`]),
  ];
  return parts.join(', ') || 'nothing';
}

const plan = (parts: ViewParts): string => shown(decideReplicas(setViewOf(parts)));
const parallel: StatefulSetSpec = { podManagementPolicy: 'Parallel' };
const rolling = (rollingUpdate: object): StatefulSetSpec => ({ updateStrategy: { type: 'RollingUpdate', rollingUpdate } });
const onDelete: StatefulSetSpec = { updateStrategy: { type: 'OnDelete' } };
const claims: StatefulSetSpec = { volumeClaimTemplates: [{ metadata: { name: 'data' } }] };
const ready = { readyFor: 60 };
const [zero, one, two, three] = [0, 1, 2, 3].map((ordinal) => podAt(ordinal, ready)) as [never, never, never, never];
const updated = { revision: 'r2', readyFor: 60 };
const broken = { revision: 'r2' };

describe('pods in order', () => {
  it.each<[string, ViewParts, string]>([
    ['makes the first pod', {}, 'make 0 r1'],
    ['waits for the first pod to be ready', { pods: [podAt(0)] }, 'nothing'],
    ['makes the second when the first is ready', { pods: [zero] }, 'make 1 r1'],
    ['waits until the first has been ready for minReadySeconds', { spec: { minReadySeconds: 90 }, pods: [zero] }, 'nothing'],
    ['fills a gap before anything else', { pods: [zero, two, three] }, 'make 1 r1'],
    ['waits for a pod that is on its way out', { pods: [zero, podAt(1, { ...ready, isLeaving: true }), two] }, 'nothing'],
    ['waits for one that is ready but does not run', { pods: [podAt(0, { ...ready, phase: 'Unknown' })] }, 'nothing'],
    ['deletes a pod that has failed', { pods: [zero, podAt(1, { phase: 'Failed' })] }, 'delete 1'],
    ['deletes a pod that has ended well', { pods: [zero, podAt(1, { phase: 'Succeeded' })] }, 'delete 1'],
    [
      'leaves a failed pod that was replaced just before',
      { pods: [podAt(0, { phase: 'Failed' })], replaceableInMs: 300 },
      'again 300',
    ],
    ['waits for a failed pod to be gone', { pods: [podAt(0, { phase: 'Failed', isLeaving: true })] }, 'nothing'],
    ['takes the highest pod that is too many', { spec: { replicas: 1 }, pods: [zero, one, two] }, 'delete 2'],
    [
      'takes the next one when that is gone',
      { spec: { replicas: 1 }, pods: [zero, one, podAt(2, { isLeaving: true })] },
      'nothing',
    ],
    ['takes none while a pod that stays is not ready', { spec: { replicas: 1 }, pods: [podAt(0), one] }, 'nothing'],
    [
      'takes none of several that are too many and not ready, of a revision that has worked',
      { spec: { replicas: 0 }, pods: [podAt(0), podAt(1), podAt(2)], isCurrentProven: true },
      'nothing',
    ],
    [
      'takes the only one that is not ready',
      { spec: { replicas: 1 }, pods: [zero, one, podAt(2)], isCurrentProven: true },
      'delete 2',
    ],
    [
      'takes one that is ready though a lower one is not',
      { spec: { replicas: 1 }, pods: [zero, podAt(1), two], isCurrentProven: true },
      'delete 2',
    ],
    [
      'takes those that are not ready and of a revision that has never worked',
      { spec: { replicas: 1 }, pods: [zero, podAt(1), podAt(2)], isCurrentProven: false },
      'delete 2',
    ],
    [
      'takes one that has ended though a lower one is not ready',
      { spec: { replicas: 1 }, pods: [zero, podAt(1), podAt(2, { phase: 'Failed' })], isCurrentProven: true },
      'delete 2',
    ],
    ['begins with the first ordinal that is wanted', { spec: { ordinals: { start: 5 } }, pods: [zero] }, 'make 5 r1'],
    [
      'takes pods below the first ordinal when the others are there',
      { spec: { replicas: 2, ordinals: { start: 2 } }, pods: [zero, one, two, three] },
      'delete 1',
    ],
    ['is done when all are there', { pods: [zero, one, two] }, 'nothing'],
    ['wants none', { spec: { replicas: 0 }, pods: [] }, 'nothing'],
  ])('%s', (_, parts, outcome) => expect(plan(parts)).toBe(outcome));
});

describe('a set of as many replicas as a number of 32 bits can say', () => {
  const most = 2 ** 31 - 1;

  it('in order makes its first pod, and takes none away', () => {
    expect(plan({ spec: { replicas: most }, pods: [two] })).toBe('make 0 r1');
  });

  it('in parallel makes a burst, at the first ordinals that lack a pod', () => {
    const { make, delete: deleted } = decideReplicas(setViewOf({ spec: { ...parallel, replicas: most }, pods: [one] }));
    expect(make.map(({ ordinal }) => ordinal)).toEqual([0, ...Array.from({ length: 499 }, (_, i) => i + 2)]);
    expect(deleted).toEqual([]);
  });

  it('counts all that it lacks as unavailable', () => {
    const spec = { ...parallel, ...rolling({ maxUnavailable: percent('50%') }), replicas: most };
    expect(decideReplicas(setViewOf({ spec, pods: [zero], update: 'r2' })).delete).toEqual([]);
  });
});

describe('parallel pods', () => {
  it.each<[string, ViewParts, string]>([
    ['are all made at once', { spec: parallel }, 'make 0 r1, make 1 r1, make 2 r1'],
    ['are made though others are not ready', { spec: parallel, pods: [podAt(0)] }, 'make 1 r1, make 2 r1'],
    [
      'are all taken away at once, whatever else is missing',
      { spec: { ...parallel, replicas: 1 }, pods: [one, two] },
      'make 0 r1, delete 2, delete 1',
    ],
    ['that have failed are deleted at once', { spec: parallel, pods: [podAt(0, { phase: 'Failed' }), one, two] }, 'delete 0'],
    ['wait for their name', { spec: parallel, pods: [podAt(0, { isLeaving: true }), one, two] }, 'nothing'],
  ])('%s', (_, parts, outcome) => expect(plan(parts)).toBe(outcome));

  it('are made at most 500 at a time', () => {
    expect(decideReplicas(setViewOf({ spec: { ...parallel, replicas: 2_000 } })).make).toHaveLength(500);
  });
});

describe('an update', () => {
  const update = 'r2';
  const old = [zero, one, two];
  it.each<[string, ViewParts, string]>([
    ['replaces the highest pod first', { update, pods: old }, 'delete 2'],
    ['makes it anew of the present template', { update, pods: [zero, one] }, 'make 2 r2'],
    ['waits for the new pod to be ready', { update, pods: [zero, one, podAt(2, broken)] }, 'nothing'],
    ['goes on with the next one', { update, pods: [zero, one, podAt(2, updated)] }, 'delete 1'],
    ['ends above the partition', { update, spec: rolling({ partition: 2 }), pods: [zero, one, podAt(2, updated)] }, 'nothing'],
    [
      'makes lost pods below the partition of the current revision',
      { update, spec: rolling({ partition: 2 }), pods: [zero] },
      'make 1 r1',
    ],
    [
      'counts the partition from the first ordinal',
      { update, spec: { ...rolling({ partition: 1 }), replicas: 1, ordinals: { start: 7 } } },
      'make 7 r1',
    ],
    [
      'makes a lost pod as its neighbours still are where no partition is said',
      { update, spec: { updateStrategy: { type: 'RollingUpdate' } }, pods: [one, podAt(2, updated)] },
      'make 0 r1',
    ],
    [
      'makes a lost parallel pod of the present template: an outdated one that starts would be replaced again',
      { update, spec: { ...parallel, updateStrategy: { type: 'RollingUpdate' } }, pods: [one, podAt(2, updated)] },
      'make 0 r2',
    ],
    [
      'replaces as many as may be unavailable',
      { update, spec: rolling({ maxUnavailable: { type: 0, intVal: 2 } }), pods: old },
      'delete 2, delete 1',
    ],
    ['leaves everything to a deletion by hand where it is told to', { update, spec: onDelete, pods: old }, 'nothing'],
    ['makes what was deleted by hand of the present template', { update, spec: onDelete, pods: [zero, two] }, 'make 1 r2'],
    ['takes pods that are too many first', { update, spec: { replicas: 2 }, pods: old }, 'delete 2'],
    ['counts missing parallel pods as unavailable', { update, spec: parallel, pods: [zero, two] }, 'make 1 r2'],
    [
      'replaces parallel pods that are not ready before those that are',
      { update, spec: parallel, pods: [podAt(0), one, two] },
      'delete 0',
    ],
    [
      'waits for parallel pods that are ready, but not for long enough',
      { update, spec: { ...parallel, minReadySeconds: 30 }, pods: [podAt(0, { readyFor: 5 }), one, two] },
      'nothing',
    ],
  ])('%s', (_, parts, outcome) => expect(plan(parts)).toBe(outcome));
});

describe('a broken update', () => {
  it.each<[string, ViewParts, string]>([
    ['is taken back: the pod that never became ready goes', { update: 'r1', pods: [zero, one, podAt(2, broken)] }, 'delete 2'],
    ['is corrected by a third template', { update: 'r3', pods: [zero, one, podAt(2, broken)] }, 'delete 2'],
    [
      'leaves a pod that is on its way out',
      { update: 'r3', pods: [zero, one, podAt(2, { ...broken, isLeaving: true })] },
      'nothing',
    ],
    ['waits for a pod of the revision that worked', { update: 'r2', pods: [zero, podAt(1), two] }, 'nothing'],
    [
      'does not wait for a pod of a revision that never worked',
      { update: 'r2', pods: [podAt(0)], isCurrentProven: false },
      'delete 0',
    ],
    ['waits where pods are deleted by hand', { update: 'r1', spec: onDelete, pods: [zero, one, podAt(2, broken)] }, 'nothing'],
    [
      'is taken back below the partition, too',
      { update: 'r3', spec: rolling({ partition: 3 }), pods: [zero, one, podAt(2, broken)] },
      'delete 2',
    ],
    [
      'leaves pods of the present template below the partition',
      { update: 'r2', spec: rolling({ partition: 3 }), pods: [zero, one, podAt(2, broken)] },
      'nothing',
    ],
    [
      'takes the pods of all revisions that never got ready at once where pods are parallel',
      { update: 'r3', spec: parallel, pods: [zero, podAt(1, broken), podAt(2, broken)] },
      'delete 1, delete 2',
    ],
  ])('%s', (_, parts, outcome) => expect(plan(parts)).toBe(outcome));
});

describe('claims', () => {
  const scaledDown: StatefulSetSpec = {
    ...claims,
    replicas: 1,
    persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete', whenDeleted: 'Retain' },
  };
  const earlier = { apiVersion: 'v1', kind: 'Pod', name: 'web-0', uid: 'gone' };
  it.each<[string, ViewParts, string]>([
    ['are made before their pod', { spec: claims }, 'make 0 data-web-0 r1'],
    ['that are there are used', { spec: claims, claims: [claimNamed('data-web-0')] }, 'make 0 r1'],
    [
      'that are missing are made for a pod that is there',
      { spec: claims, pods: [podAt(0, { phase: 'Pending' })] },
      'make 0 data-web-0',
    ],
    ['that are missing are left where the pod runs', { spec: claims, pods: [podAt(0)] }, 'nothing'],
    [
      'that are being deleted hold their pod up',
      { spec: claims, claims: [claimNamed('data-web-0', { isLeaving: true })] },
      'blocked web-0: pvc data-web-0 is being deleted',
    ],
    [
      'that go with an earlier pod hold the new one up',
      { spec: scaledDown, claims: [claimNamed('data-web-0', { owners: [earlier] })] },
      'blocked web-0: pvc data-web-0 is being deleted',
    ],
    [
      'go with a pod that is too many before it is deleted',
      { spec: scaledDown, pods: [zero, one], claims: [claimNamed('data-web-1')] },
      'own data-web-1 by web-1, delete 1',
    ],
    [
      'stay with a pod that leaves although the set has grown again',
      {
        spec: { ...scaledDown, replicas: 2 },
        pods: [zero, podAt(1, { isLeaving: true })],
        claims: [
          claimNamed('data-web-1', { owners: [{ apiVersion: 'v1', kind: 'Pod', name: 'web-1', uid: 'u1', controller: true }] }),
        ],
      },
      'nothing',
    ],
  ])('%s', (_, parts, outcome) => expect(plan(parts)).toBe(outcome));
});

it('restores the labels that say which pod one is', () => {
  const bare = { ...podAt(0, ready), metadata: { ...podAt(0).metadata, labels: { app: 'web' } } };
  expect(plan({ spec: { replicas: 1 }, pods: [bare], update: '' })).toContain('relabel web-0');
});

it('leaves everything of a set that is being deleted', () => {
  const view = setViewOf({ pods: [podAt(7)] });
  const plan = decideReplicas({
    ...view,
    set: { ...view.set, metadata: { ...view.set.metadata, deletionTimestamp: secondsAgo(1) } },
  });
  expect(isActing(plan)).toBe(false);
});

it.each([
  ['web-0', 0],
  ['web-12', 12],
  ['web-01', undefined],
  ['web-', undefined],
  ['web-x', undefined],
  ['webs-1', undefined],
  ['web-1-2', undefined],
  ['web-4294967296', undefined],
])('the name %s has the ordinal %s', (name, ordinal) => {
  expect(ordinalOf(statefulSetOf(), { metadata: { name } })).toBe(ordinal);
});

it.each([
  [undefined, 10, 1],
  [{ type: 0, intVal: 3 }, 10, 3],
  [percent('29%'), 10, 2],
  [percent('1%'), 10, 1],
])('of maxUnavailable %j and %i pods, %i may be unavailable', (maxUnavailable, replicas, most) => {
  const spec = rolling(maxUnavailable ? { maxUnavailable } : {});
  expect(wishesOf(statefulSetOf({ ...spec, replicas })).maxUnavailable).toBe(most);
});
