import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { count, type DeploymentParts, deploymentOf, type SetParts, setOf } from '../../test/builders/deployment.ts';
import { decideScale, isScaling } from './decide-scale.ts';
import { familyOf } from './revisions.ts';
import { boundsOf, replicasOf } from './sizes.ts';

function look(parts: DeploymentParts, sets: Readonly<Record<string, SetParts>>) {
  const deployment = deploymentOf({ image: 'i:new', ...parts });
  const all = Object.entries(sets).map(([name, set], at) => setOf(name, { image: `i:${name}`, createdAt: at, ...set }));
  return { deployment, family: familyOf(deployment, all) };
}

const sizes = (parts: DeploymentParts, sets: Readonly<Record<string, SetParts>>): string => {
  const { deployment, family } = look(parts, sets);
  return decideScale(deployment, family)
    .map(({ set, replicas }) => `${set.metadata?.name?.replace('web-', '')}=${replicas}`)
    .join(' ');
};

const surge = { maxSurge: count(3), maxUnavailable: count(2) };

describe('decideScale', () => {
  it.each<[string, DeploymentParts, Record<string, SetParts>, string]>([
    ['gives the whole change to the only ReplicaSet with pods', { replicas: 10 }, { old: { replicas: 4 }, new: {} }, 'old=10'],
    ['gives it to the present one where none has pods', { replicas: 2 }, { old: {}, new: {} }, 'new=2'],
    ['gives it to the newest where the present template has none yet', { replicas: 2 }, { a: {}, b: {} }, 'b=2'],
    [
      'lets the only ReplicaSet with pods note a new size that it has already',
      { replicas: 4 },
      { new: { replicas: 4, noted: [6, 8] } },
      'new=4',
    ],
    ['changes nothing that has its size', { replicas: 4 }, { new: { replicas: 4 } }, ''],
    [
      'takes old pods away when the present ReplicaSet has all that is wanted',
      { replicas: 5, ...surge },
      { old: { replicas: 2 }, new: { replicas: 5, noted: [5, 8] } },
      'old=0',
    ],
    [
      'splits growth in proportion, the rest to the largest',
      { replicas: 15, ...surge },
      { old: { replicas: 8, noted: [10, 13] }, new: { replicas: 5, noted: [10, 13] } },
      'old=11 new=7',
    ],
    [
      'splits shrinking in proportion',
      { replicas: 5, ...surge },
      { old: { replicas: 8, noted: [10, 13] }, new: { replicas: 5, noted: [10, 13] } },
      'old=5 new=3',
    ],
    [
      'takes all away when none is wanted',
      { replicas: 0, ...surge },
      { old: { replicas: 8, noted: [10, 13] }, new: { replicas: 5, noted: [10, 13] } },
      'old=0 new=0',
    ],
    ['leaves Recreate to its rollout', { replicas: 5, recreate: true }, { old: { replicas: 2 }, new: { replicas: 1 } }, ''],
    [
      'lets the ReplicaSets of Recreate note a new size, so that its rollout goes on',
      { replicas: 5, recreate: true },
      { old: { replicas: 2, noted: [3, 4] }, new: { replicas: 1, noted: [5, 5] } },
      'old=2',
    ],
  ])('%s', (_, parts, sets, outcome) => expect(sizes(parts, sets)).toBe(outcome));

  it('comes to replicas and surge in all, and to no negative size', () => {
    const set = fc.integer({ min: 1, max: 20 });
    fc.assert(
      fc.property(
        fc.nat(30),
        fc.nat(5),
        fc.array(set, { minLength: 2, maxLength: 5 }),
        fc.nat(30),
        (replicas, maxSurge, drawn, noted) => {
          const entries = drawn.map(
            (size, at) => [at === 0 ? 'new' : `s${at}`, { replicas: size, noted: [noted, noted + maxSurge] }] as const,
          );
          const parts = { replicas, maxSurge: count(maxSurge), maxUnavailable: count(1) };
          const { deployment, family } = look(parts, Object.fromEntries(entries));
          const decided = decideScale(deployment, family);
          if (decided.length < drawn.length) return;
          const total = decided.reduce((sum, size) => sum + size.replicas, 0);
          expect(decided.every((size) => size.replicas >= 0)).toBe(true);
          expect(total).toBe(replicas === 0 ? 0 : replicas + boundsOf(deployment).maxSurge);
        },
      ),
    );
  });
});

describe('isScaling', () => {
  it.each<[string, DeploymentParts, Record<string, SetParts>, boolean]>([
    [
      'is what a size that none of the ReplicaSets has noted means',
      { replicas: 5 },
      { new: { replicas: 3, noted: [3, 4] } },
      true,
    ],
    ['is over when all have noted it', { replicas: 5 }, { new: { replicas: 3, noted: [5, 7] } }, false],
    [
      'passes over ReplicaSets without pods',
      { replicas: 5 },
      { old: { noted: [3, 4] }, new: { replicas: 5, noted: [5, 7] } },
      false,
    ],
  ])('%s', (_, parts, sets, outcome) => {
    const { deployment, family } = look(parts, sets);
    expect(isScaling(deployment, family)).toBe(outcome);
    expect(replicasOf(deployment)).toBe(5);
  });
});
