import { describe, expect, it } from 'vitest';
import type { JobSpec } from '../../api/generated/types.ts';
import { jobTrackingFinalizer } from '../../api/meta/workload-names.ts';
import { Controllers, happen, Oracle, randomSpec } from '../../test/fakes/job-oracle.ts';
import { faultless, JobWorld } from '../../test/fakes/job-world.ts';
import { podOutline } from '../outline.ts';
import { isActive } from '../owned-pods/availability.ts';
import { IndexSet } from './index-set.ts';
import { endOf, isTracked } from './job-facts.ts';

/** BERTH_SEEDS=FIRST-COUNT plays others than the usual ones. */
const [firstSeed = 1, runs = 300] = (process.env.BERTH_SEEDS ?? '1-300').split('-').map(Number);

/** Plays a Job's life by a seed, first with faults, then without until the Job has ended. */
async function play(seed: number, { change = (spec: JobSpec) => spec, isCalm = false } = {}) {
  const oracle = new Oracle(seed);
  const { world } = oracle;
  const { random } = world;
  const spec = change(randomSpec(world));
  world.addJob(spec);
  oracle.allowed = spec.parallelism ?? 1;
  const controllers = new Controllers(world);
  const failing = random.pick([0, 0.2, 0.5]) ?? 0;
  world.faults = { kill: isCalm ? 0 : 0.03, away: 0.03, unanswered: 0.05, refused: 0.05 };
  for (let step = 0; step < 120 && oracle.wrong.length === 0; step++) {
    const what = random.next();
    if (what < 0.35) await controllers.look();
    else if (what < 0.6) happen(world, failing);
    else if (what < 0.9) controllers.catchUp(random.chance(0.5));
    else if (what < 0.92 && !isCalm && !endOf(world.job()))
      world.changeJob((job) => {
        job.spec = { ...job.spec, suspend: !job.spec?.suspend };
      });
    else if (what < 0.94 && !isCalm) oracle.resize(1 + random.int(6));
    else world.now += random.int(30_000);
  }
  world.faults = faultless;
  world.changeJob((job) => {
    job.spec = { ...job.spec, suspend: false };
  });
  for (let step = 0; step < 3_000 && !endOf(world.job()) && oracle.wrong.length === 0; step++) {
    controllers.catchUp(true);
    await controllers.look();
    happen(world, failing);
    world.now += 20_000;
  }
  controllers.catchUp(true);
  return { oracle, world, controllers };
}

const reasons = [
  'BackoffLimitExceeded',
  'CompletionsReached',
  'DeadlineExceeded',
  'FailedIndexes',
  'MaxFailedIndexesExceeded',
  'PodFailurePolicy',
  'SuccessPolicy',
];

const seeds = Array.from({ length: runs }, (_, at) => firstSeed + at);

describe('a Job in a world that fails', () => {
  it(`counts each pod once and ends, with ${runs} seeds from ${firstSeed}`, async () => {
    let starts = 0;
    const ends = new Set<string>();
    for (const seed of seeds) {
      const { oracle, world, controllers } = await play(seed);
      const { spec, status = {} } = world.job();
      const told = `seed ${seed}: ${JSON.stringify({ spec: { ...spec, template: undefined }, status })}`;
      expect(oracle.wrong, told).toEqual([]);
      expect(endOf(world.job()), told).toBeDefined();
      expect(world.pods().filter(isTracked), told).toEqual([]);
      expect(world.pods().filter(isActive), told).toEqual([]);
      const of = (how: string) => [...oracle.recorded.values()].filter((each) => each === how).length;
      expect(status.failed ?? 0, told).toBe(of('failed'));
      const succeeded = spec?.completionMode === 'Indexed' ? IndexSet.parse(status.completedIndexes, 1e6).size : of('succeeded');
      expect(status.succeeded ?? 0, told).toBe(succeeded);
      starts += controllers.starts;
      ends.add(status.conditions?.at(-1)?.reason ?? '');
    }
    // The seeds lead everywhere.
    if (runs >= 300) expect([...ends].toSorted()).toEqual(reasons);
    expect(starts).toBeGreaterThan(runs);
  }, 120_000);

  it('lets no pod go that it does not count, where no process dies and no client suspends it', async () => {
    const change = ({ parallelism = 1, completions = 1 }: JobSpec): JobSpec => ({ parallelism, completions, backoffLimit: 100 });
    for (const seed of seeds.slice(0, 100)) {
      const { oracle } = await play(seed, { change, isCalm: true });
      expect([oracle.wrong, [...oracle.letGo]], `seed ${seed}`).toEqual([[], []]);
    }
  }, 60_000);

  it('leaves no pod with its finalizer when the Job is deleted at any moment', async () => {
    for (const seed of seeds.slice(0, 100)) {
      const oracle = new Oracle(seed);
      const { world } = oracle;
      const uid = world.addJob(randomSpec(world)).metadata?.uid ?? '';
      oracle.allowed = 5;
      const controllers = new Controllers(world);
      const end = 5 + world.random.int(60);
      for (let step = 0; step < end; step++) {
        if (world.random.chance(0.5)) await controllers.look();
        else happen(world, 0.2);
        controllers.catchUp(world.random.chance(0.5));
        world.now += 1_000;
      }
      const isOrphaned = world.random.chance(0.5);
      world.removeJob();
      for (const pod of world.pods()) {
        if (!isOrphaned) world.deletePod(pod, 0);
        else
          world.changePod(pod, ({ metadata }) => {
            delete metadata!.ownerReferences;
          });
      }
      for (let step = 0; step < 3; step++) {
        controllers.catchUp(true);
        await controllers.look();
        await controllers.sweep(uid);
      }
      expect(world.pods().filter(isTracked), `seed ${seed}`).toEqual([]);
      if (!isOrphaned) expect(world.pods(), `seed ${seed}`).toEqual([]);
    }
  }, 60_000);
});

describe('a Job of 5,000 completions, 500 at a time', () => {
  it('writes two times for each pod, and its status twice a second', async () => {
    const world = new JobWorld(1);
    world.addJob({ completions: 5_000, parallelism: 500, completionMode: 'NonIndexed' });
    const controllers = new Controllers(world);
    let looks = 0;
    for (; !endOf(world.job()) && looks < 1_000; looks++) {
      controllers.catchUp(true);
      await controllers.look();
      for (const pod of world.pods().filter(isActive).slice(0, 250))
        world.changePod(pod, (next) => {
          next.spec = { ...next.spec, nodeName: 'n1' };
          next.status = { phase: 'Succeeded', containerStatuses: [{ name: 'main', state: { terminated: { exitCode: 0 } } }] };
        });
      world.now += 500;
    }
    expect(world.job().status).toMatchObject({ succeeded: 5_000, active: 0 });
    const { create, patch, updateStatus = 0 } = Object.fromEntries(world.calls);
    expect({ create, patch }).toEqual({ create: 5_000, patch: 5_000 });
    expect(updateStatus).toBeLessThan(60);
    // What is kept of a pod that has ended and is counted.
    const [ended] = world.pods();
    expect(JSON.stringify(podOutline(ended!))).not.toContain('terminated');
    expect(ended?.metadata?.finalizers).not.toContain(jobTrackingFinalizer);
  }, 60_000);
});
