import { afterEach, beforeEach, expect, it } from 'vitest';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import type { Pod } from '../../client/index.ts';
import { findOverCommitments, fitsSomewhere, followPlacements, type PlacementHistory } from '../integration/placement-history.ts';
import { addNode, type SchedulerCluster, startSchedulerCluster } from '../integration/scheduler-cluster.ts';
import { printCounts } from './counts.ts';
import { effort } from './effort.ts';
import { createChance } from './random.ts';
import { disturbedClient } from './schedulers/disturbed-client.ts';
import { collectPods, createPods, loseNodes, machine, restartScheduler, runAgents } from './schedulers/unrest.ts';

/** Room for a fraction of the pods at any time. */
const nodes = 20;
const pods = effort(2_000, 20_000);

let cluster: SchedulerCluster;
let history: PlacementHistory;
const ends: (() => unknown)[] = [];
beforeEach(async () => {
  cluster = await startSchedulerCluster();
  ends.push(() => cluster.stop());
  history = await followPlacements(cluster.client);
  ends.push(() => history.close());
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

it.each([
  ['of one name', ['default-scheduler', 'default-scheduler']],
  ['of different names', ['default-scheduler', 'other-scheduler']],
])('two schedulers %s at once never over-commit a node, bind a pod twice or lose one', async (title, names) => {
  const chance = createChance(`two schedulers ${title}`);
  const counts: Record<string, number> = {};
  const count = (what: string) => {
    counts[what] = (counts[what] ?? 0) + 1;
  };
  const { client } = cluster;
  await client.objects.create('PriorityClass', {
    ...{ apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass' },
    ...{ metadata: { name: 'important' }, value: 1000 },
  });
  for (let i = 0; i < nodes; i++) await addNode(cluster, machine(i));

  const calm = new AbortController();
  const end = new AbortController();
  const unrest = { client, history, chance, signal: calm.signal };
  const collecting = collectPods({ client, history, signal: end.signal });
  const running = [
    runAgents(unrest, count),
    loseNodes(unrest, nodes, count),
    ...names.map((name) =>
      restartScheduler(unrest, () => cluster.startScheduler(name, { through: (own) => disturbedClient(own, chance) }), count),
    ),
  ];
  ends.push(async () => {
    calm.abort();
    end.abort();
    await Promise.allSettled([...running, collecting]);
  });
  await createPods(unrest, pods, [...new Set(names)]);
  // Until most had their turn.
  const isUntouched = (each: Pod) => !each.spec?.nodeName && each.status?.conditions === undefined;
  await history.until(
    () => ![...history.pods.values()].some(isUntouched),
    300_000,
    () => describe([...history.pods.values()].filter(isUntouched)),
  );
  calm.abort();
  await Promise.all(running);

  await expect.poll(() => describe(unsettled()), { timeout: 200_000, interval: 500 }).toEqual('');
  end.abort();
  await collecting;
  expect(findOverCommitments(history.changes)).toEqual([]);
  const bound = new Set(history.changes.filter(({ pod }) => pod?.spec?.nodeName).map(({ pod }) => pod?.metadata?.uid));
  printCounts(`two schedulers ${title}`, { pods, bound: bound.size, waiting: waiting().length, ...counts });
  expect(bound.size).toBeGreaterThan(pods / 4);

  function waiting(): Pod[] {
    return [...history.pods.values()].filter((each) => !each.spec?.nodeName);
  }
  /** Bound and said to be; or waiting with the reason, where there is no room. */
  function unsettled(): Pod[] {
    return [...history.pods.values()].filter((each) => {
      if (isFinished(each)) return false;
      const scheduled = each.status?.conditions?.find(({ type }) => type === 'PodScheduled');
      if (each.spec?.nodeName) return scheduled?.status !== 'True' || !history.nodes.has(each.spec.nodeName);
      return scheduled?.status !== 'False' || scheduled.reason !== 'Unschedulable' || fitsSomewhere(history, each);
    });
  }
});

function describe(pods: readonly Pod[]): string {
  const lines = pods.slice(0, 5).map(({ metadata, spec, status }) => {
    const conditions = status?.conditions?.map(
      ({ type, status: value, reason, message }) => `${type}=${value} ${reason} ${message}`,
    );
    return `${metadata?.name} on "${spec?.nodeName ?? ''}", ${conditions}`;
  });
  return lines.length === 0 ? '' : `${pods.length}: ${lines.join('; ')}`;
}
