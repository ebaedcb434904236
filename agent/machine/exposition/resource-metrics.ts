import type { MetricTable } from '../../../api/metrics/index.ts';

const ofContainer = { labels: ['container', 'namespace', 'pod'] } as const;
const ofPod = { labels: ['namespace', 'pod'] } as const;

/** What /metrics/resource says: the kubelet's short list. docs/metrics.md is made from this. */
export const resourceMetrics = {
  containerCpu: {
    name: 'container_cpu_usage_seconds_total',
    type: 'counter',
    help: 'Processor time of the container.',
    ...ofContainer,
  },
  containerMemory: {
    name: 'container_memory_working_set_bytes',
    type: 'gauge',
    help: 'Memory of the container that cannot be taken back.',
    ...ofContainer,
  },
  containerStart: {
    name: 'container_start_time_seconds',
    type: 'gauge',
    help: 'When the container was started, in seconds since the epoch.',
    ...ofContainer,
  },
  containerSwap: {
    name: 'container_swap_usage_bytes',
    type: 'gauge',
    help: 'What of the container is swapped out.',
    ...ofContainer,
  },
  nodeCpu: { name: 'node_cpu_usage_seconds_total', type: 'counter', help: 'Time in which the processors of the node were busy.' },
  nodeMemory: {
    name: 'node_memory_working_set_bytes',
    type: 'gauge',
    help: 'Memory of the node that is not available: what "berth top nodes" shows.',
  },
  nodeSwap: { name: 'node_swap_usage_bytes', type: 'gauge', help: 'Swap space of the node that is used.' },
  podCpu: {
    name: 'pod_cpu_usage_seconds_total',
    type: 'counter',
    help: 'Processor time of all containers of the pod.',
    ...ofPod,
  },
  podMemory: {
    name: 'pod_memory_working_set_bytes',
    type: 'gauge',
    help: 'Memory of all containers of the pod that cannot be taken back.',
    ...ofPod,
  },
  podSwap: { name: 'pod_swap_usage_bytes', type: 'gauge', help: 'What of the pod is swapped out.', ...ofPod },
  errors: { name: 'resource_scrape_error', type: 'gauge', help: '1 when figures of the node could not be read, otherwise 0.' },
} as const satisfies MetricTable;
