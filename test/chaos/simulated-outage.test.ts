import { expect, it } from 'vitest';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import { timestamp } from '../../api/meta/time.ts';
import { PlayedNodes } from '../simulation/played-nodes.ts';
import { World } from '../simulation/world.ts';

// Ten minutes without a control plane, on a fake clock: agents cannot renew their leases, and nothing decides. The ten
// real minutes are in lost-node.test.ts, in the long form.
const outageMs = 600_000;
const names = ['n1', 'n2', 'n3'];
const leaseNamespace = 'kube-node-lease';
const at = (name: string) => ({ namespace: 'default', name });

async function createWorkloads({ client }: World): Promise<void> {
  const specOf = (app: string) => {
    const labels = { app };
    return { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } };
  };
  const containers = [{ name: 'c', image: 'i' }];
  await client.deployments.create({ metadata: at('web'), spec: { replicas: 3, ...specOf('web') } });
  await client.statefulSets.create({ metadata: at('db'), spec: { replicas: 2, ...specOf('db') } });
  await client.daemonSets.create({ metadata: at('log'), spec: specOf('log') });
  const template = { spec: { restartPolicy: 'Never', containers } };
  await client.jobs.create({ metadata: at('work'), spec: { parallelism: 2, completions: 2, template } });
}
const podCount = 3 + 2 + names.length + 2;

/** Renews the leases as agents do; those of a node that is out of step come some seconds after the others'. */
function heartbeats(world: World, silent?: string): () => Promise<void> {
  const renewedAt = new Map(names.map((name, nth) => [name, world.clock.now() - nth * 3_000]));
  return async () => {
    for (const name of names) {
      if (name === silent || world.clock.now() - renewedAt.get(name)! < 10_000) continue;
      renewedAt.set(name, world.clock.now());
      const key = { namespace: leaseNamespace, name };
      const spec = { holderIdentity: name, renewTime: timestamp(new Date(world.clock.now())), leaseDurationSeconds: 40 };
      const found = await world.client.leases.get(key).catch(() => undefined);
      await (found ? world.client.leases.update({ ...found, spec }) : world.client.leases.create({ metadata: key, spec }));
    }
  };
}

const look = async (world: World) =>
  (await world.pods())
    .map((pod) => `${pod.metadata?.name} ${pod.metadata?.uid} ${pod.metadata?.deletionTimestamp ? 'ends' : isPodReady(pod)}`)
    .toSorted();

/** A cluster that is at rest. */
async function startWorld(): Promise<{ world: World; renew: () => Promise<void>; before: string[] }> {
  const world = await World.start(1, ['*']);
  await world.client.namespaces.create({ metadata: { name: leaseNamespace } });
  const nodes = new PlayedNodes(world, { names, becomesReady: () => true });
  await nodes.register();
  await createWorkloads(world);
  await world.restartControllers();
  const renew = heartbeats(world);
  const live = async () => {
    await renew();
    await nodes.step();
  };
  const ready = async () => (await look(world)).filter((line) => line.endsWith(' true')).length;
  for (let tries = 0; tries < 60 && (await ready()) < podCount; tries++) await world.pass(1_000, live);
  await world.pass(60_000, renew);
  const before = await look(world);
  expect(before).toHaveLength(podCount);
  return { world, renew, before };
}

const tainted = async ({ client }: World) =>
  (await client.nodes.list({})).items.flatMap(({ metadata, spec }) => (spec?.taints?.length ? [metadata?.name] : []));

it.each([
  ['the controllers are killed and others start with the server', 'killed'],
  ['the controllers live on and find the server away', 'alive'],
])('ten minutes without a control plane make and end no pod: %s', async (_, controllers) => {
  const { world, renew, before } = await startWorld();
  if (controllers === 'killed') world.killControllers();
  else world.setFaults({ refused: 1, broken: 1 });
  await world.pass(outageMs);
  world.setFaults({});
  if (controllers === 'killed') await world.restartControllers();
  await world.pass(180_000, renew);

  expect(await look(world)).toEqual(before);
  expect(await tainted(world)).toEqual([]);
  await world.stop();
});

it('a node that is silent for ten minutes while the server answers loses its pods', async () => {
  const { world, before } = await startWorld();
  await world.pass(outageMs, heartbeats(world, 'n1'));
  expect(await tainted(world)).toEqual(['n1']);
  expect(await look(world)).not.toEqual(before);
  await world.stop();
});
