import { performance } from 'node:perf_hooks';
import type { Deployment, Pod } from '../../client/index.ts';
import { atMost, type Figure } from '../figure.ts';
import type { WorkloadCluster } from './cluster.ts';
import { StatusWatch } from './status-watch.ts';

const replicas = 100;
/** Until all replacements are bound, after the taint is stored. */
const mostSeconds = 2;
const name = 'lost';
/** Not the one of lost nodes, which is taken away from a node that lives. */
const taintKey = 'bench.berth.io/lost';

/**
 * A Deployment whose pods prefer one node. Their own rule of spreading, which nothing breaks, stands in for the
 * scheduler's defaults: those weigh as much as the preference, and would take most pods elsewhere.
 */
function deploymentOn(node: string): Deployment {
  const labels = { app: name };
  const matchExpressions = [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }];
  const preferred = [{ weight: 100, preference: { matchExpressions } }];
  const affinity = { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred } };
  const topologySpreadConstraints = [
    {
      topologyKey: 'kubernetes.io/hostname',
      maxSkew: 2 * replicas,
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: labels },
    },
  ];
  const containers = [{ name: 'c', image: 'i' }];
  return {
    metadata: { namespace: 'default', name },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { affinity, topologySpreadConstraints, containers } },
    },
  };
}

/** How long the pods of a node wait for replacements that are bound, from the taint that evicts them. */
export async function benchLostNode({ server, writes }: WorkloadCluster, say: (text: string) => void): Promise<Figure[]> {
  const { nodes, deployments, pods } = server.client;
  await writes.quiet(2_000);
  const { items } = await nodes.list({ limit: 1 });
  const node = items[0]?.metadata?.name ?? '';
  const watch = await StatusWatch.open<Pod>(pods);
  const own = (objects: ReadonlyMap<string, Pod>) =>
    [...objects.values()].filter(({ metadata }) => metadata?.labels?.app === name && !metadata.deletionTimestamp);
  const boundElsewhere = (objects: ReadonlyMap<string, Pod>): number =>
    own(objects).filter(({ spec }) => spec?.nodeName && spec.nodeName !== node).length;
  await deployments.create(deploymentOn(node));
  const areReady = (objects: ReadonlyMap<string, Pod>) =>
    own(objects).filter(({ status }) => status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'))
      .length === replicas;
  await watch.until(areReady, `${replicas} pods are Ready`);
  const before = boundElsewhere(watch.objects);
  if (before > 0) throw new Error(`${before} of ${replicas} pods are not on ${node}, although it has room`);
  await nodes.patch({ name: node }, { spec: { taints: [{ key: taintKey, effect: 'NoExecute' }] } });
  const beganAt = performance.now();
  await watch.until((objects) => boundElsewhere(objects) === replicas, 'all replacements are bound');
  const seconds = (performance.now() - beganAt) / 1000;
  watch.close();
  say(`replacements of ${replicas} pods are bound after ${seconds.toFixed(2)} s`);
  return [atMost(`replacements of a lost node's ${replicas} pods are bound`, seconds, 's', mostSeconds)];
}
