import { performance } from 'node:perf_hooks';
import { atLeast, atMost, type Figure, median, note } from '../figure.ts';
import { cpuSeconds } from '../process-costs.ts';
import { type Cluster, createAndBind, createNodes, createPods, withCluster } from './cluster.ts';
import { podOf, type Shape, shapes } from './shapes.ts';
import type { Pods, Workload } from './workloads.ts';

type Say = (text: string) => void;

/**
 * Pods of each round of the floor: created and bound without a scheduler, after what is measured,
 * so that they disturb nothing.
 */
const floorPods = 2_000;
const floorRounds = 3;
const measuredName = (index: number): string => `measured-${index}`;

/** Runs one workload on a cluster of its own. Throws when a pod does not find its place. */
export function benchWorkload(workload: Workload, say: Say): Promise<Figure[]> {
  return withCluster(async (cluster) => {
    await prepare(cluster, workload, say);
    const { count, shape } = workload.measured;
    const { pods } = cluster;
    const before = processorTimes(cluster);
    pods.waits.length = 0;
    const begin = performance.now();
    const created = createPods(cluster, count, (index) => podOf(measuredName(index), shape));
    await bound(cluster, { count: pods.nodeOf.size + count, begin, say });
    await created;
    const took = (pods.lastBoundAt - begin) / 1000;
    const after = processorTimes(cluster);
    const bare = await floor(cluster, workload);
    say(`${(count / took).toFixed(0)}/s; created and bound without a scheduler ${bare.toFixed(0)}/s`);
    const each = (name: keyof typeof after): number => ((after[name] - before[name]) / count) * 1e6;
    return [
      atLeast(
        'pods, against those that are created and bound without a scheduler',
        count / took / bare,
        'x',
        workload.leastShare,
      ),
      note(`pods of ${count} on ${workload.nodes} nodes`, count / took, '1/s'),
      note('pods created and bound without a scheduler', bare, '1/s'),
      ...rules(cluster, workload),
      note('from its first event to its binding, p50', median(pods.waits), 'ms'),
      note("server's processor for a pod", each('server'), 'us'),
      note("scheduler's processor for a pod", each('scheduler'), 'us'),
      note('processor of those who create and watch, for a pod', each('clients'), 'us'),
    ];
  });
}

/** Pods in a second that the server creates and binds by itself: the median of some rounds. */
async function floor(cluster: Cluster, { nodes }: Workload): Promise<number> {
  const { pods } = cluster;
  const rates: number[] = [];
  for (let round = 0; round < floorRounds; round++) {
    const already = pods.nodeOf.size;
    const begin = performance.now();
    const created = createAndBind(cluster, nodes, floorPods, (index) => podOf(`floor-${round}-${index}`, shapes.unscheduled));
    await pods.until(
      () => pods.nodeOf.size >= already + floorPods,
      () => {},
    );
    await created;
    rates.push(floorPods / ((pods.lastBoundAt - begin) / 1000));
  }
  return median(rates);
}

async function prepare(cluster: Cluster, workload: Workload, say: Say): Promise<void> {
  say(`${workload.nodes} nodes`);
  await createNodes(cluster, workload);
  const { priorityClass, unschedulable = 0 } = workload;
  if (priorityClass) await createPriorityClass(cluster, priorityClass);
  for (const [kind, pods] of workload.existing.entries()) await createExisting(cluster, pods, kind, say);
  if (unschedulable === 0) return;
  say(`${unschedulable} pods that fit nowhere`);
  await createPods(cluster, unschedulable, (index) => podOf(`waits-${index}`, shapes.tooLarge));
  // Its creation, and the condition that says why it waits.
  const isTold = (index: number): boolean => (cluster.pods.heard.get(`waits-${index}`) ?? 0) > 1;
  await cluster.pods.until(
    () => Array.from({ length: unschedulable }, (_, index) => index).every(isTold),
    () => {},
  );
}

async function createExisting(cluster: Cluster, { count, shape }: Pods, kind: number, say: Say): Promise<void> {
  say(`${count} existing pods`);
  const begin = performance.now();
  const already = cluster.pods.nodeOf.size;
  const created = createPods(cluster, count, (index) => podOf(existingName(kind, index), shape));
  await bound(cluster, { count: already + count, begin, say });
  await created;
}

const existingName = (kind: number, index: number): string => `existing-${kind}-${index}`;

interface Wanted {
  readonly count: number;
  readonly begin: number;
  readonly say: Say;
}

async function bound({ pods }: Cluster, { count, begin, say }: Wanted): Promise<void> {
  const already = pods.nodeOf.size;
  await pods.until(
    () => pods.nodeOf.size >= count,
    () => {
      const done = pods.nodeOf.size - already;
      const rate = done / ((performance.now() - begin) / 1000);
      say(`  ${done} of ${count - already} pods bound, ${rate.toFixed(0)}/s`);
    },
  );
}

/** A workload whose pods have rules must keep them: without its plugin it would be the plain one. */
function rules({ pods }: Cluster, { existing, measured, misplaced }: Workload): Figure[] {
  if (misplaced === undefined) return [];
  const same = existing.flatMap(({ count, shape }, kind) =>
    isSame(shape, measured.shape) ? namesOf(count, (index) => existingName(kind, index)) : [],
  );
  const nodes = [...same, ...namesOf(measured.count, measuredName)].map((name) => pods.nodeOf.get(name) ?? '');
  return [atMost('pods that are where they must not be', misplaced(nodes), 'pods', 0)];
}

const isSame = (a: Shape, b: Shape): boolean => a === b;
const namesOf = (count: number, name: (index: number) => string): string[] =>
  Array.from({ length: count }, (_, index) => name(index));

async function createPriorityClass({ server }: Cluster, { name, value }: { name: string; value: number }): Promise<void> {
  const object = { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name }, value };
  await server.client.objects.create('PriorityClass', object);
}

function processorTimes({ server, scheduler }: Cluster): Record<'server' | 'scheduler' | 'clients', number> {
  return {
    server: cpuSeconds([server.server.pid!]),
    scheduler: cpuSeconds([scheduler.pid!]),
    clients: cpuSeconds([process.pid]),
  };
}
