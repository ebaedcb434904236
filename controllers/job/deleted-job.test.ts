import { describe, expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { Controllers, happen, Oracle, randomSpec } from '../../test/fakes/job-oracle.ts';
import { faultless } from '../../test/fakes/job-world.ts';
import { isTracked } from './job-facts.ts';

const seeds = Array.from({ length: 12 }, (_, at) => 1 + at);
const orphan = ({ metadata }: Pod): void => void delete metadata?.ownerReferences;
const relabel = ({ metadata = {} }: Pod): void => {
  metadata.labels = {};
};

/** Plays a Job from which pods are taken while its controller looks, fails and lags; at some moment it is deleted. */
async function play(seed: number, take: (pod: Pod) => void, isDeleted: boolean) {
  const oracle = new Oracle(seed);
  const { world } = oracle;
  const { random } = world;
  const { uid = '' } = world.addJob({ ...randomSpec(world), parallelism: 5 }).metadata ?? {};
  oracle.allowed = 5;
  const controllers = new Controllers(world);
  world.faults = { ...faultless, away: 0.1, refused: 0.3 };
  const since = 5 + random.int(40);
  for (let step = 0; step < since + 30; step++) {
    if (isDeleted && step === since)
      world.changeJob(({ metadata = {} }) => {
        metadata.deletionTimestamp = { seconds: 1 };
      });
    const takes = world.pods().filter(({ metadata }) => isDeleted || metadata?.deletionTimestamp);
    const pod = step > since ? random.pick(takes) : undefined;
    if (pod) world.changePod(pod, take);
    if (random.chance(0.5)) await controllers.look();
    else happen(world, 0.3);
    controllers.catchUp(random.chance(0.5));
    world.now += 1_000;
  }
  world.faults = faultless;
  for (let step = 0; step < 10; step++) {
    controllers.catchUp(true);
    await controllers.look();
    await controllers.sweep(uid);
    world.now += 1_000;
  }
  return oracle;
}

describe('a Job counts no pod that still has its finalizer', () => {
  it.each([
    ['the references of its pods are taken while it is being deleted', orphan, true],
    ['the labels of its pods are changed while it is being deleted', relabel, true],
    ['the references of pods that are being deleted are taken', orphan, false],
  ])(
    'when %s',
    async (_, take, isDeleted) => {
      for (const seed of seeds) {
        const { wrong, world } = await play(seed, take, isDeleted);
        // What is taken from a Job that goes on may be let go uncounted; what it counts, it counts once.
        expect(isDeleted ? wrong : wrong.filter((each) => !each.endsWith('is lost')), `seed ${seed}`).toEqual([]);
        // A pod that has its finalizer for ever never goes, and so neither does a Job that waits for it (Foreground).
        if (isDeleted) expect(world.pods().filter(isTracked), `seed ${seed}`).toEqual([]);
      }
    },
    60_000,
  );
});
