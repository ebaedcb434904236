import { performance } from 'node:perf_hooks';
import type { Deployment } from '../../client/index.ts';
import { atMost, type Figure, inParallel, note } from '../figure.ts';
import { type WorkloadCluster, withWorkloadCluster } from './cluster.ts';
import { benchLostNode } from './lost-node.ts';
import { StatusWatch } from './status-watch.ts';
import { steadyState } from './steady.ts';
import { totalOf, type Writes } from './write-counts.ts';

/** Bounds: so many times what the counted writes, with Events, take at the rate of bulk creates in the same run. */
const most = { create: 1.3, many: 1.5, rollout: 1.6, down: 1.3 };
/** A pod's own writes from create to Ready, besides events. */
const mostWritesOfPod = 5;

const large = 5_000;
const manyCount = 2_000;
const rolled = 1_000;
/** While nothing changes, with those of the many Deployments. */
const steadyPods = 5_000;

/** Room for the steady state's share, and for all pods of the node that is lost. */
const mostPodsOfNode = 250;

export const at = (name: string) => ({ namespace: 'default', name });

function deploymentOf(name: string, replicas: number, image = 'i:1'): Deployment {
  const labels = { app: name };
  const container = { name: 'c', image, resources: { requests: { cpu: { string: '10m' }, memory: { string: '16Mi' } } } };
  return {
    metadata: at(name),
    spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [container] } } },
  };
}

/** Whether the controller has seen the change that made this generation, and has come to its end. */
const isAvailable = (deployment: Deployment | undefined, replicas: number, generation = 1): boolean => {
  const { status = {} } = deployment ?? {};
  const counts = [status.replicas, status.updatedReplicas, status.availableReplicas].map((count = 0) => count);
  return (status.observedGeneration ?? 0) >= generation && counts.every((count) => count === replicas);
};

/** What a task took, and how that compares with its writes at the rate of bulk creates. */
export function compared(name: string, seconds: number, writes: Writes, { bulkRate }: WorkloadCluster, bound: number): Figure[] {
  const total = totalOf(writes);
  return [
    atMost(`${name}, against its writes at the bulk rate`, (seconds * bulkRate) / total, 'x', bound),
    note(name, seconds, 's'),
    note(`${name}: writes`, total, ''),
  ];
}

/** Times a task until a condition of the Deployments holds; with the writes of all until there is rest. */
async function timed(
  { writes }: WorkloadCluster,
  watch: StatusWatch<Deployment>,
  task: () => Promise<unknown>,
  isDone: (objects: ReadonlyMap<string, Deployment>) => boolean,
  what: string,
): Promise<{ seconds: number; writes: Writes }> {
  await writes.take();
  const beganAt = performance.now();
  await task();
  await watch.until(isDone, what);
  const seconds = (performance.now() - beganAt) / 1000;
  const counted = await writes.take();
  return { seconds, writes: counted };
}

/** Deployments: one large, a rolling update, many small, and the rest that they have afterwards. */
export function benchDeployments(say: (text: string) => void): Promise<Figure[]> {
  return withWorkloadCluster(say, ['--pods', String(mostPodsOfNode)], async (cluster) => {
    const { deployments } = cluster.server.client;
    const watch = await StatusWatch.open(deployments);
    const one = (replicas: number, generation: number) => (objects: ReadonlyMap<string, Deployment>) =>
      isAvailable(objects.get('default/one'), replicas, generation);
    const figures = [note('bulk creates', cluster.bulkRate, '1/s')];

    const created = await timed(
      cluster,
      watch,
      () => deployments.create(deploymentOf('one', large)),
      one(large, 1),
      'all pods Ready',
    );
    say(`${large} replicas: ${created.seconds.toFixed(1)} s, ${JSON.stringify(created.writes)}`);
    figures.push(...compared(`${large} replicas until all are Ready`, created.seconds, created.writes, cluster, most.create));
    figures.push(atMost('writes of a pod until it is Ready', created.writes.Pod / large, '', mostWritesOfPod));

    await cluster.writes.quiet(2_000);
    const down = await timed(
      cluster,
      watch,
      () => deployments.patch(at('one'), { spec: { replicas: 0 } }),
      one(0, 2),
      'all pods gone',
    );
    say(`down to 0: ${down.seconds.toFixed(1)} s, ${JSON.stringify(down.writes)}`);
    figures.push(...compared(`${large} replicas down to 0`, down.seconds, down.writes, cluster, most.down));

    figures.push(...(await benchRollout(cluster, watch, say)), ...(await benchMany(cluster, watch, say)));
    await deployments.patch(at('one'), { spec: { replicas: steadyPods - 2 * manyCount } });
    await watch.until(one(steadyPods - 2 * manyCount, 3), 'the pods of the steady state');
    figures.push(...(await steadyState(cluster, say)), ...(await benchLostNode(cluster, say)));
    watch.close();
    return figures;
  });
}

async function benchRollout(
  cluster: WorkloadCluster,
  watch: StatusWatch<Deployment>,
  say: (text: string) => void,
): Promise<Figure[]> {
  const { deployments } = cluster.server.client;
  const done = (generation: number) => (objects: ReadonlyMap<string, Deployment>) =>
    isAvailable(objects.get('default/rolled'), rolled, generation);
  await cluster.writes.quiet(2_000);
  await timed(cluster, watch, () => deployments.create(deploymentOf('rolled', rolled)), done(1), 'the first pods');
  await cluster.writes.quiet(2_000);
  const containers = deploymentOf('rolled', rolled, 'i:2').spec?.template?.spec?.containers?.map(
    ({ name, image, resources }) => ({
      name,
      image,
      resources: { requests: { cpu: resources?.requests?.cpu?.string, memory: resources?.requests?.memory?.string } },
    }),
  );
  const patch = { spec: { template: { spec: { containers } } } };
  const { seconds, writes } = await timed(cluster, watch, () => deployments.patch(at('rolled'), patch), done(2), 'the update');
  say(`rolling update of ${rolled}: ${seconds.toFixed(1)} s, ${JSON.stringify(writes)}`);
  await deployments.delete(at('rolled'));
  return compared(`rolling update of ${rolled} replicas`, seconds, writes, cluster, most.rollout);
}

async function benchMany(
  cluster: WorkloadCluster,
  watch: StatusWatch<Deployment>,
  say: (text: string) => void,
): Promise<Figure[]> {
  await cluster.writes.quiet(2_000);
  const writer = cluster.server.client.bulkWriter({ answers: 'metadata' });
  const resource = writer.resource('Deployment');
  const create = () =>
    inParallel(manyCount, 500, async (index) => void (await resource.create(deploymentOf(`many-${index}`, 2))));
  const done = (objects: ReadonlyMap<string, Deployment>) => {
    let available = 0;
    for (const [key, deployment] of objects) if (key.startsWith('default/many-') && isAvailable(deployment, 2)) available++;
    return available === manyCount;
  };
  const { seconds, writes } = await timed(cluster, watch, create, done, `${manyCount} Deployments`);
  await writer.close();
  say(`${manyCount} Deployments of 2: ${seconds.toFixed(1)} s, ${JSON.stringify(writes)}`);
  return compared(`${manyCount} Deployments of 2 until all are Available`, seconds, writes, cluster, most.many);
}
