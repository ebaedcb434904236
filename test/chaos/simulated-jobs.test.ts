import { expect, it } from 'vitest';
import type { Job, JobSpec } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { isConditionTrue } from '../../api/meta/conditions.ts';
import { controllerOf } from '../../api/meta/owner.ts';
import type { ResourceClient } from '../../client/index.ts';
import { isTrackedPod, JobAccount } from '../simulation/job-account.ts';
import { PlayedNodes } from '../simulation/played-nodes.ts';
import { World } from '../simulation/world.ts';
import { effort } from './effort.ts';
import { createChance } from './random.ts';

// Random histories of Jobs in memory: real controllers and registry, faulty calls and watches, controllers that are
// killed at any moment.
const histories = effort(60, 5_000);
const at = (name: string) => ({ namespace: 'default', name });
const names = ['a', 'b'];
const labelOf = 'of';
/** Waits of failed Jobs are passed over. */
const leapMs = 15_000;

const jobsOf = (world: World): ResourceClient<Job> => world.client.resource(kindNamed('Job'));
const hasEnded = ({ status }: Job): boolean => ['Complete', 'Failed'].some((type) => isConditionTrue(status?.conditions, type));

function specOf({ chance }: World): JobSpec {
  const has = (probability: number): boolean => chance.next() < probability;
  const isIndexed = has(0.5);
  const hasPolicy = has(0.2);
  return {
    parallelism: 1 + chance.below(4),
    ...((isIndexed || has(0.8)) && { completions: 1 + chance.below(8) }),
    completionMode: isIndexed ? 'Indexed' : 'NonIndexed',
    backoffLimit: chance.pick([0, 3, 100]),
    podReplacementPolicy: hasPolicy || has(0.3) ? 'Failed' : 'TerminatingOrFailed',
    ...(has(0.1) && { ttlSecondsAfterFinished: chance.below(3) }),
    ...(has(0.1) && { activeDeadlineSeconds: 1 + chance.below(60) }),
    ...(isIndexed && has(0.4) && { backoffLimitPerIndex: chance.below(3), backoffLimit: 1_000 }),
    ...(isIndexed && has(0.2) && { successPolicy: { rules: [{ succeededCount: 1 }] } }),
    ...(hasPolicy && {
      podFailurePolicy: {
        rules: [{ action: chance.pick(['Ignore', 'FailJob', 'Count']), onExitCodes: { operator: 'In', values: [1] } }],
      },
    }),
  };
}

function jobOf(world: World, name: string): Job {
  const template = {
    metadata: { labels: { [labelOf]: name } },
    spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] },
  };
  return { metadata: at(name), spec: { template, ...specOf(world) } };
}

/** One thing that a user does, or that happens. */
async function act(world: World): Promise<void> {
  const { chance, client } = world;
  const jobs = jobsOf(world);
  const name = chance.pick(names);
  const found = await jobs.get(at(name)).catch(() => undefined);
  if (!found) return void (await jobs.create(jobOf(world, name)));
  const { pods } = client;
  const all = await world.pods();
  const any = all.length > 0 ? chance.pick(all).metadata?.name : undefined;
  const parallelism = chance.below(6);
  const isElastic = found.spec?.completionMode === 'Indexed' && found.spec.completions === found.spec.parallelism;
  const completions = Math.max(1, parallelism);
  const things = [
    () => jobs.patch(at(name), { spec: isElastic ? { parallelism: completions, completions } : { parallelism } }),
    () => !hasEnded(found) && jobs.patch(at(name), { spec: { suspend: !found.spec?.suspend } }),
    () => world.restartControllers(),
    () => world.restartControllers(),
    () => world.clock.advance(leapMs),
    async () => any !== undefined && (await pods.delete(at(any))),
    async () => any !== undefined && (await pods.delete(at(any), { gracePeriodSeconds: 0 })),
    async () =>
      any !== undefined &&
      chance.next() < 0.3 &&
      (await pods.patch(at(any), { metadata: { labels: { 'batch.kubernetes.io/controller-uid': 'other' } } })),
    async () =>
      (hasEnded(found) || chance.next() < 0.2) &&
      (await jobs.delete(at(name), { propagationPolicy: chance.pick(['Background', 'Foreground', 'Orphan']) })),
  ];
  await chance.pick(things)();
}

/** What is wrong in the end, in words. */
async function findWrong(world: World, account: JobAccount): Promise<string[]> {
  const wrong: string[] = [];
  const pods = await world.pods();
  for (const pod of pods.filter(isTrackedPod)) wrong.push(`${pod.metadata?.name} keeps its finalizer`);
  for (const name of names) {
    const found = await jobsOf(world)
      .get(at(name))
      .catch(() => undefined);
    const own = pods.filter((pod) => controllerOf(pod)?.name === name && !isFinished(pod));
    if (!found) {
      if (own.length > 0) wrong.push(`${name} is gone and has ${own.length} pods`);
      continue;
    }
    const { status = {}, spec } = found;
    if (!hasEnded(found))
      wrong.push(`${name} has not ended: ${JSON.stringify({ ...spec, template: 0 })} ${JSON.stringify(status)}`);
    if (own.length > 0) wrong.push(`${name} has ${own.length} pods that have not ended`);
    const { active = 0, terminating = 0 } = status;
    if (active + terminating > 0) wrong.push(`${name} says that ${active} are active and ${terminating} terminating`);
    if (hasEnded(found)) wrong.push(...account.checkCounts(found));
  }
  return wrong;
}

/** Everything that was asked for can be had: no Job is suspended or wants no pods. */
async function wantAll(world: World): Promise<void> {
  for (const name of names) {
    const found = await jobsOf(world)
      .get(at(name))
      .catch(() => undefined);
    const spec = { suspend: false, ...(found?.spec?.parallelism === 0 && { parallelism: 2 }) };
    if (found && !hasEnded(found)) await jobsOf(world).patch(at(name), { spec });
  }
}

async function runHistory(seed: number): Promise<string[]> {
  const world = await World.start(seed, ['job', 'job-leftovers', 'finished-jobs', 'dependents']);
  const watching = new AbortController();
  const account = new JobAccount(world.clock);
  const following = account.follow(world.server, watching.signal);
  const { chance, faults } = world;
  const failing = chance.pick([0, 0.2, 0.5]);
  const nodes = new PlayedNodes(world, {
    names: ['n1', 'n2', 'n3'],
    becomesReady: () => true,
    // In the end nothing fails by itself any more.
    ends: {
      rate: () => 0.1,
      phase: () => (faults.rates.delayMs > 0 && chance.next() < failing ? 'Failed' : 'Succeeded'),
    },
  });
  await nodes.register();
  world.setFaults({ refused: 0.1, unheard: 0.12, conflict: 0.12, broken: 0.05, expired: 0.05, delayMs: 400 });
  await world.restartControllers();
  for (let turn = 0; turn < 12; turn++) {
    await act(world);
    await world.pass(chance.below(2_000), () => nodes.step());
  }
  await wantAll(world);
  world.setFaults({});
  let wrong = ['not looked at'];
  for (let tries = 0; wrong.length > 0 && tries < 100; tries++) {
    await world.pass(500, () => nodes.step());
    wrong = await findWrong(world, account);
    if (wrong.length > 0) await world.clock.advance(leapMs);
  }
  watching.abort();
  await following;
  await world.stop();
  const found = [...wrong, ...account.wrong];
  if (found.length > 0) process.stdout.write(`seed ${seed}:\n${account.trail.join('\n')}\n`);
  return found;
}

it(`${histories} random histories of Jobs end, each pod counted once, and no pod too many is ever made`, async () => {
  const chance = createChance('simulated jobs');
  const failed: string[] = [];
  for (let nth = 0; nth < histories && failed.length < 3; nth++) {
    const seed = chance.below(2 ** 31);
    const wrong = await runHistory(seed);
    if (wrong.length > 0) failed.push(`seed ${seed}: ${wrong.join('; ')}`);
  }
  expect(failed).toEqual([]);
});
