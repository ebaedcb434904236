import { performance } from 'node:perf_hooks';
import type { Job } from '../../client/index.ts';
import { atMost, type Figure, note } from '../figure.ts';
import { withWorkloadCluster } from './cluster.ts';
import { at, compared } from './deployments.ts';
import { StatusWatch } from './status-watch.ts';

const completions = 5_000;
const parallelism = 500;
const most = 1.5;
/** A pod's own writes from create to its end, besides events. */
const mostWritesOfPod = 8;

/** A Job whose pods end as soon as they have begun. */
export function benchJobs(say: (text: string) => void): Promise<Figure[]> {
  return withWorkloadCluster(say, ['--run-for', '0s'], async (cluster) => {
    const { jobs } = cluster.server.client;
    const watch = await StatusWatch.open(jobs);
    await cluster.writes.take();
    const beganAt = performance.now();
    const container = { name: 'c', image: 'i', resources: { requests: { cpu: { string: '10m' } } } };
    const template = { spec: { restartPolicy: 'Never', containers: [container] } };
    await jobs.create({ metadata: at('many'), spec: { completions, parallelism, template } });
    const isDone = (objects: ReadonlyMap<string, Job>) =>
      objects.get('default/many')?.status?.conditions?.some(({ type, status }) => type === 'Complete' && status === 'True') ===
      true;
    await watch.until(isDone, 'the Job completes');
    const seconds = (performance.now() - beganAt) / 1000;
    const writes = await cluster.writes.take();
    const succeeded = watch.objects.get('default/many')?.status?.succeeded;
    watch.close();
    if (succeeded !== completions) throw new Error(`${succeeded} of ${completions} pods were counted`);
    say(`${completions} completions: ${seconds.toFixed(1)} s, ${JSON.stringify(writes)}`);
    return [
      note('bulk creates', cluster.bulkRate, '1/s'),
      ...compared(`Job of ${completions} completions at ${parallelism} at once`, seconds, writes, cluster, most),
      atMost('writes of a pod until it is counted', writes.Pod / completions, '', mostWritesOfPod),
    ];
  });
}
