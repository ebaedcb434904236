import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Deployment, ReplicaSet } from '../../api/generated/types.ts';
import { count, type DeploymentParts, deploymentOf, percent, type SetParts, setOf } from '../../test/builders/deployment.ts';
import { decideCleanup, decideRollout, type RolloutStep } from './decide-rollout.ts';
import { familyOf } from './revisions.ts';
import { availableOf, boundsOf, replicasOf, sum } from './sizes.ts';

function shown(step: RolloutStep): string {
  switch (step.do) {
    case 'create':
      return `create ${step.replicas}`;
    case 'resize':
      return step.sizes.map(({ set, replicas }) => `${set.metadata?.name?.replace('web-', '')}=${replicas}`).join(' ');
    default:
      return step.do;
  }
}

/** `new` has the present template. */
function next(parts: DeploymentParts, sets: Readonly<Record<string, SetParts>>, hasOldPods = false): string {
  const deployment = deploymentOf({ image: 'i:2', ...parts });
  const all = Object.entries(sets).map(([name, set], at) =>
    setOf(name, { image: name === 'new' ? 'i:2' : `i:old-${name}`, createdAt: at, ...set }),
  );
  return shown(decideRollout({ deployment, family: familyOf(deployment, all), hasOldPods: () => hasOldPods }));
}

const bounds = (maxSurge: number, maxUnavailable: number) => ({
  maxSurge: count(maxSurge),
  maxUnavailable: count(maxUnavailable),
});

describe('a rolling update', () => {
  it.each<[string, DeploymentParts, Record<string, SetParts>, string]>([
    ['makes all pods of the first template at once', { replicas: 3 }, {}, 'create 3'],
    ['begins with as many new pods as the surge allows', { replicas: 4, ...bounds(1, 0) }, { a: { replicas: 4 } }, 'create 1'],
    ['begins with none where there is no surge', { replicas: 4, ...bounds(0, 1) }, { a: { replicas: 4 } }, 'create 0'],
    [
      'takes old pods away without a surge, as many as may be missing',
      { replicas: 4, ...bounds(0, 1) },
      { a: { replicas: 4 }, new: { replicas: 0 } },
      'a=3',
    ],
    [
      'waits while new pods are not available',
      { replicas: 4, ...bounds(1, 0) },
      { a: { replicas: 4 }, new: { replicas: 1, available: 0 } },
      'nothing',
    ],
    [
      'takes an old pod away for each new one that is available',
      { replicas: 4, ...bounds(1, 0) },
      { a: { replicas: 4 }, new: { replicas: 1 } },
      'a=3',
    ],
    [
      'grows into the room that old pods have left',
      { replicas: 4, ...bounds(1, 0) },
      { a: { replicas: 3 }, new: { replicas: 1 } },
      'new=2',
    ],
    [
      'takes old pods first that are not available, of the oldest set first',
      { replicas: 4, ...bounds(1, 1) },
      { a: { replicas: 2, available: 1 }, b: { replicas: 2 }, new: { replicas: 1, available: 0 } },
      'a=1',
    ],
    [
      'takes broken pods away at once when the template goes back to what ran',
      { replicas: 4, ...bounds(1, 1) },
      { new: { replicas: 3 }, broken: { replicas: 2, available: 0 } },
      'broken=0',
    ],
    [
      'is done when there is nothing of other templates',
      { replicas: 2 },
      { a: { replicas: 0 }, new: { replicas: 2 } },
      'nothing',
    ],
    ['becomes as small as is wanted', { replicas: 1 }, { new: { replicas: 3 } }, 'new=1'],
    ['never grows beyond what is wanted', { replicas: 2, ...bounds(10, 0) }, { new: { replicas: 1 } }, 'new=2'],
    [
      'moves with both bounds 0, as with one that may be missing',
      { replicas: 3, ...bounds(0, 0) },
      { a: { replicas: 3 }, new: {} },
      'a=2',
    ],
  ])('%s', (_, parts, sets, step) => expect(next(parts, sets)).toBe(step));
});

describe('Recreate', () => {
  const recreate = { recreate: true, replicas: 3 };
  it.each<[string, Record<string, SetParts>, boolean, string]>([
    ['takes all old pods away first', { a: { replicas: 3 } }, true, 'a=0'],
    ['waits until the last of them is gone', { a: { replicas: 0 } }, true, 'wait'],
    ['makes the new ones then', { a: { replicas: 0 } }, false, 'create 3'],
    ['scales the ReplicaSet of the present template', { new: { replicas: 1 } }, false, 'new=3'],
    ['is done', { new: { replicas: 3 } }, false, 'nothing'],
    [
      'waits for an old ReplicaSet that does not know its new size yet',
      { old: { replicas: 0, status: { observedGeneration: 0 } } },
      false,
      'wait',
    ],
  ])('%s', (_, sets, hasOldPods, step) => expect(next(recreate, sets, hasOldPods)).toBe(step));
});

describe('boundsOf', () => {
  it.each<[number, string, string, [number, number]]>([
    [10, '25%', '25%', [3, 2]],
    [1, '25%', '25%', [1, 0]],
    [3, '0%', '10%', [0, 1]],
    [0, '25%', '25%', [0, 0]],
    [4, '100%', '100%', [4, 4]],
  ])('of %d replicas with surge %s and unavailable %s are %j', (replicas, surge, unavailable, [maxSurge, maxUnavailable]) =>
    expect(boundsOf(deploymentOf({ replicas, maxSurge: percent(surge), maxUnavailable: percent(unavailable) }))).toEqual({
      maxSurge,
      maxUnavailable,
    }),
  );
});

describe('decideCleanup', () => {
  const names = (historyLimit: number, sets: Record<string, SetParts>) =>
    decideCleanup(
      deploymentOf({ historyLimit }),
      Object.entries(sets).map(([name, set]) => setOf(name, set)),
    ).map(({ metadata }) => metadata?.name);
  it('deletes those of the oldest revisions beyond the limit', () =>
    expect(names(1, { a: { revision: 3 }, b: { revision: 1 }, c: { revision: 2 } })).toEqual(['web-b', 'web-c']));
  it('leaves those that have pods, or of which the last change was not seen', () =>
    expect(names(0, { a: { replicas: 1 }, b: { has: 1 }, c: { status: { observedGeneration: 0 } } })).toEqual([]));
});

/** Sets as a Deployment may find them: of any size, with any part available. */
const anySets = fc.array(fc.record({ replicas: fc.nat(8), missing: fc.nat(8), notAvailable: fc.nat(8), isNew: fc.boolean() }), {
  maxLength: 4,
});
const anyDeployment = fc.record({ replicas: fc.nat(10), maxSurge: fc.nat(5), maxUnavailable: fc.nat(5) });

function worldOf(
  { replicas, maxSurge, maxUnavailable }: { replicas: number; maxSurge: number; maxUnavailable: number },
  drawn: readonly { replicas: number; missing: number; notAvailable: number; isNew: boolean }[],
) {
  const deployment = deploymentOf({ replicas, image: 'i:new', ...bounds(maxSurge, maxUnavailable) });
  const newAt = drawn.findIndex(({ isNew }) => isNew);
  const sets = drawn.map((set, at) => {
    const has = Math.max(0, set.replicas - set.missing);
    const available = Math.max(0, has - set.notAvailable);
    return setOf(`s${at}`, { image: at === newAt ? 'i:new' : `i:${at}`, replicas: set.replicas, has, available, createdAt: at });
  });
  return { deployment, sets };
}

function applied(sets: readonly ReplicaSet[], step: RolloutStep): readonly ReplicaSet[] {
  if (step.do === 'create')
    return [...sets, setOf('made', { image: 'i:new', replicas: step.replicas, has: 0, available: 0, createdAt: 99 })];
  if (step.do !== 'resize') return sets;
  return sets.map((set) => {
    const size = step.sizes.find((each) => each.set === set);
    return size ? { ...set, spec: { ...set.spec, replicas: size.replicas } } : set;
  });
}

const decide = (deployment: Deployment, sets: readonly ReplicaSet[]): RolloutStep =>
  decideRollout({ deployment, family: familyOf(deployment, sets), hasOldPods: () => false });

/** What a ReplicaSet comes to: it has the pods that it wants, unavailable ones go first, and one more is available. */
function settled({ spec, status, ...set }: ReplicaSet): ReplicaSet {
  const replicas = spec?.replicas ?? 0;
  const available = Math.min(replicas, (status?.availableReplicas ?? 0) + 1);
  const counts = { replicas, readyReplicas: available, availableReplicas: available };
  return { ...set, ...(spec && { spec }), status: { ...status, ...counts } };
}

describe('every step of a rolling update', () => {
  it('never wants more pods than replicas and surge, where there were no more before', () => {
    fc.assert(
      fc.property(anyDeployment, anySets, (drawn, drawnSets) => {
        const { deployment, sets } = worldOf(drawn, drawnSets);
        const most = Math.max(sum(sets, replicasOf), replicasOf(deployment) + boundsOf(deployment).maxSurge);
        const after = applied(sets, decide(deployment, sets));
        expect(sum(after, replicasOf)).toBeLessThanOrEqual(most);
      }),
    );
  });

  it('leaves as many available pods as a rollout has to, where as many were read', () => {
    fc.assert(
      fc.property(anyDeployment, anySets, (drawn, drawnSets) => {
        const { deployment, sets } = worldOf(drawn, drawnSets);
        const least = replicasOf(deployment) - boundsOf(deployment).maxUnavailable;
        const before = sum(sets, availableOf);
        const after = applied(sets, decide(deployment, sets));
        const left = sum(after, (set) => Math.min(availableOf(set), replicasOf(set)));
        expect(left).toBeGreaterThanOrEqual(Math.min(before, least));
      }),
    );
  });

  it('leads to the wanted pods of the present template alone, and stays there', () => {
    fc.assert(
      fc.property(anyDeployment, anySets, (drawn, drawnSets) => {
        const world = worldOf(drawn, drawnSets);
        const { deployment } = world;
        let sets: readonly ReplicaSet[] = world.sets;
        for (let turn = 0; turn < 200; turn++) sets = applied(sets, decide(deployment, sets)).map(settled);
        const { current, old } = familyOf(deployment, sets);
        expect([current && replicasOf(current), sum(old, replicasOf)]).toEqual([replicasOf(deployment), 0]);
        expect(decide(deployment, sets).do).toBe('nothing');
      }),
    );
  });
});
