import { performance } from 'node:perf_hooks';
import { atMost, type Figure, note } from '../figure.ts';
import { anonymousMegabytes, readMemory } from '../process-costs.ts';
import { createNodes, createPods, withCluster } from './cluster.ts';
import { podOf, shapes } from './shapes.ts';

const nodes = 5_000;
const count = 50_000;

/**
 * What the scheduler holds with many nodes and pods, all of which it placed itself, at the moment when the last is
 * bound, before any garbage collection that is forced.
 */
export function benchMemory(say: (text: string) => void): Promise<Figure[]> {
  return withCluster(async (cluster) => {
    const { pods, scheduler, server } = cluster;
    say(`${nodes} nodes, ${count} pods`);
    await createNodes(cluster, { nodes, zones: 1 });
    const begin = performance.now();
    const created = createPods(cluster, count, (index) => podOf(`pod-${index}`, shapes.plain));
    await pods.until(
      () => pods.nodeOf.size >= count,
      () => say(`  ${pods.nodeOf.size} pods bound, scheduler ${anonymousMegabytes(scheduler.pid!).toFixed(0)} MB`),
    );
    await created;
    return [
      atMost(`memory of the scheduler with ${count} pods on ${nodes} nodes`, readMemory([scheduler.pid!]).total, 'MB', 500),
      note('anonymous memory of the server beside it', anonymousMegabytes(server.server.pid!), 'MB'),
      note('pods', count / ((pods.lastBoundAt - begin) / 1000), '1/s'),
    ];
  });
}
