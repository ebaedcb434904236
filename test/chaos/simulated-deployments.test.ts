import { expect, it } from 'vitest';
import type { Deployment } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { count } from '../builders/deployment.ts';
import { PlayedNodes } from '../simulation/played-nodes.ts';
import { PodAccount } from '../simulation/pod-account.ts';
import { World } from '../simulation/world.ts';
import { effort } from './effort.ts';
import { createChance } from './random.ts';

// Random histories of a cluster in memory: real controllers and registry, faulty calls and watches, and controllers
// that are killed at any moment.
const histories = effort(200, 10_000);
const at = (name: string) => ({ namespace: 'default', name });
const names = ['a', 'b'];

function deploymentOf(world: World, name: string): Deployment {
  const { chance } = world;
  const labels = { app: name };
  const rollingUpdate = { maxSurge: count(chance.below(3)), maxUnavailable: count(1 + chance.below(2)) };
  return {
    metadata: at(name),
    spec: {
      replicas: chance.below(5),
      selector: { matchLabels: labels },
      strategy: chance.next() < 0.2 ? { type: 'Recreate' } : { type: 'RollingUpdate', rollingUpdate },
      template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: `i:${chance.below(3)}` }] } },
    },
  };
}

/** One thing that a user does, or that happens. */
async function act(world: World): Promise<void> {
  const { chance, client } = world;
  const name = chance.pick(names);
  const { deployments, pods } = client;
  const found = await deployments.get(at(name)).catch(() => undefined);
  if (!found) return void (await deployments.create(deploymentOf(world, name)));
  const patch = (spec: object) => deployments.patch(at(name), { spec });
  const any = (await world.pods())[0]?.metadata?.name;
  const things = [
    () => patch({ replicas: chance.below(6) }),
    () => patch({ replicas: chance.below(6) }),
    () => patch({ template: { spec: { containers: [{ name: 'c', image: `i:${chance.below(3)}` }] } } }),
    () => patch({ template: { spec: { containers: [{ name: 'c', image: 'bad' }] } } }),
    () => patch({ paused: !found.spec?.paused }),
    () => world.restartControllers(),
    async () => any !== undefined && (await pods.delete(at(any))),
    async () => any !== undefined && (await pods.patch(at(any), { metadata: { labels: { app: 'other' } } })),
    () => (chance.next() < 0.3 ? deployments.delete(at(name)) : undefined),
  ];
  await chance.pick(things)();
}

/** What is wrong in the end, in words. */
async function findWrong(world: World): Promise<string[]> {
  const pods = await world.pods();
  const wrong: string[] = [];
  for (const name of names) {
    const own = pods.filter(({ metadata }) => metadata?.labels?.app === name);
    const active = own.filter((pod) => !isFinished(pod) && !pod.metadata?.deletionTimestamp);
    const found = await world.client.deployments.get(at(name)).catch(() => undefined);
    const wanted = found?.spec?.replicas ?? 0;
    if (active.length !== wanted) wrong.push(`${name} has ${active.length} pods and wants ${wanted}`);
    const image = found?.spec?.template?.spec?.containers?.[0]?.image;
    const others = active.filter(({ spec }) => spec?.containers?.[0]?.image !== image);
    if (others.length > 0) wrong.push(`${name} has ${others.length} pods of other templates than ${image}`);
    const status = found?.status;
    if (found && (status?.availableReplicas ?? 0) !== wanted)
      wrong.push(`${name} says that ${status?.availableReplicas} of ${wanted} are available`);
  }
  return wrong;
}

async function runHistory(seed: number): Promise<string[]> {
  const world = await World.start(seed, ['replicaset', 'deployment', 'dependents']);
  const watching = new AbortController();
  const account = new PodAccount(world.clock);
  const following = account.follow(world.server, watching.signal);
  const nodes = new PlayedNodes(world, {
    names: ['n1', 'n2', 'n3'],
    becomesReady: ({ spec }) => spec?.containers?.[0]?.image !== 'bad',
    // In the end nothing fails by itself any more.
    ends: { rate: () => (world.faults.rates.delayMs > 0 ? 0.01 : 0), phase: () => 'Failed' },
  });
  await nodes.register();
  world.setFaults({ refused: 0.1, unheard: 0.12, conflict: 0.12, broken: 0.05, expired: 0.05, delayMs: 400 });
  await world.restartControllers();
  for (let turn = 0; turn < 12; turn++) {
    await act(world);
    await world.pass(world.chance.below(2_000), () => nodes.step());
  }
  // A rollout that is stuck on a broken image is no end: what is wanted in the end can be had.
  for (const name of names)
    await world.client.deployments
      .patch(at(name), { spec: { paused: false, template: { spec: { containers: [{ name: 'c', image: 'i:9' }] } } } })
      .catch(() => {});
  world.setFaults({});
  let wrong = ['not looked at'];
  for (let tries = 0; wrong.length > 0 && tries < 300; tries++) {
    await world.pass(1_000, () => nodes.step());
    wrong = await findWrong(world);
  }
  watching.abort();
  await following;
  await world.stop();
  const found = [...wrong, ...account.excess];
  if (found.length > 0) process.stdout.write(`seed ${seed}:\n${account.trail.join('\n')}\n`);
  return found;
}

it(`${histories} random histories of Deployments end as wanted, and no pod too many is ever made`, async () => {
  const chance = createChance('simulated deployments');
  const failed: string[] = [];
  for (let nth = 0; nth < histories && failed.length < 3; nth++) {
    const seed = chance.below(2 ** 31);
    const wrong = await runHistory(seed);
    if (wrong.length > 0) failed.push(`seed ${seed}: ${wrong.join('; ')}`);
  }
  expect(failed).toEqual([]);
});
