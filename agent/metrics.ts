import { fastSeconds, type MetricsRegistry, type MetricTable, slowSeconds } from '../api/metrics/index.ts';
import type { MachineReader } from './machine/machine-reader.ts';
import type { AgentPorts } from './ports.ts';
import type { ContainerRuntime, ImageService, ObservedContainer } from './runtime/runtime.ts';
import { sandboxName } from './runtime/runtime.ts';

/** What the agent measures. docs/metrics.md is made from this. */
export const agentMetrics = {
  pods: { name: 'kubelet_running_pods', type: 'gauge', help: 'Pods whose sandbox runs on this node.' },
  containers: {
    name: 'kubelet_running_containers',
    type: 'gauge',
    help: 'Containers of pods on this node by their state, without sandboxes.',
    labels: ['container_state'],
  },
  workers: { name: 'berth_agent_pods', type: 'gauge', help: 'Pods that the agent looks after, whatever their state.' },
  syncs: {
    name: 'kubelet_pod_worker_duration_seconds',
    type: 'histogram',
    help: 'How long one look after a pod took, with all that it started, stopped or pulled.',
    buckets: slowSeconds,
  },
  relists: {
    name: 'kubelet_pleg_relist_duration_seconds',
    type: 'histogram',
    help: 'How long it took to list all containers of the node.',
    buckets: fastSeconds,
  },
  relistsFailed: { name: 'berth_agent_relist_failures_total', type: 'counter', help: 'Lists of all containers that failed.' },
  lastRelist: {
    name: 'kubelet_pleg_last_seen_seconds',
    type: 'gauge',
    help: 'When all containers were last listed, in seconds since the epoch; 0 before the first time.',
  },
  events: {
    name: 'berth_agent_runtime_events_total',
    type: 'counter',
    help: "Events of the container engine about this node's containers.",
  },
  operations: {
    name: 'kubelet_runtime_operations_total',
    type: 'counter',
    help: 'Calls of the container engine, by what was asked of it.',
    labels: ['operation_type'],
  },
  operationErrors: {
    name: 'kubelet_runtime_operations_errors_total',
    type: 'counter',
    help: 'Calls of the container engine that failed.',
    labels: ['operation_type'],
  },
  operationSeconds: {
    name: 'kubelet_runtime_operations_duration_seconds',
    type: 'histogram',
    help: 'How long calls of the container engine took.',
    labels: ['operation_type'],
    buckets: slowSeconds,
  },
  certificateTtl: {
    name: 'kubelet_certificate_manager_client_ttl_seconds',
    type: 'gauge',
    help: 'How long the certificate of this node is good still; negative once it has ended.',
  },
  renewErrors: {
    name: 'kubelet_certificate_manager_client_expiration_renew_errors',
    type: 'counter',
    help: 'Attempts to renew the certificate of this node that failed.',
  },
} as const satisfies MetricTable;

type Operation = (...args: never[]) => Promise<unknown>;

/** Kubernetes' names of runtime operations. */
const operations = {
  list: 'list_containers',
  runSandbox: 'run_podsandbox',
  createContainer: 'create_container',
  runContainer: 'run_container',
  update: 'update_container',
  stop: 'stop_container',
  remove: 'remove_container',
  version: 'version',
} as const satisfies Partial<Record<keyof ContainerRuntime, string>>;
const imageOperations = {
  find: 'image_status',
  pull: 'pull_image',
  list: 'list_images',
  load: 'load_image',
  remove: 'remove_image',
  isRefused: 'ask_registry',
  usedByContainers: 'list_all_containers',
} as const satisfies Record<keyof ImageService, string>;

/** The same ports, with the calls of the engine measured. */
export function measurePorts(ports: AgentPorts, metrics: MetricsRegistry): AgentPorts {
  const runtime = { ...ports.runtime, ...measured(ports.runtime, operations, metrics) };
  return { ...ports, runtime, images: { ...ports.images, ...measured(ports.images, imageOperations, metrics) } };
}

function measured<T extends object, K extends keyof T>(
  target: T,
  names: Readonly<Partial<Record<K, string>>>,
  metrics: MetricsRegistry,
): Partial<T> {
  const wrap = ([method, name]: [string, unknown]): [string, Operation] => {
    const labels = String(name);
    const total = metrics.counter(agentMetrics.operations).with(labels);
    const errors = metrics.counter(agentMetrics.operationErrors).with(labels);
    const seconds = metrics.histogram(agentMetrics.operationSeconds).with(labels);
    const call = (target as Record<string, Operation>)[method]!;
    const operation: Operation = async (...args) => {
      const beganAt = performance.now();
      total.inc();
      try {
        return await call.apply(target, args);
      } catch (error) {
        errors.inc();
        throw error;
      } finally {
        seconds.observe((performance.now() - beganAt) / 1000);
      }
    };
    return [method, operation];
  };
  return Object.fromEntries(Object.entries(names).map(wrap)) as Partial<T>;
}

/** What the sync loop measures of its looks at the engine. */
export function relistMeter(metrics: MetricsRegistry) {
  const last = metrics.gauge(agentMetrics.lastRelist).with();
  const seconds = metrics.histogram(agentMetrics.relists).with();
  return {
    failed: metrics.counter(agentMetrics.relistsFailed).with(),
    events: metrics.counter(agentMetrics.events).with(),
    done(beganAtMs: number, nowMs: number): void {
      seconds.observe((nowMs - beganAtMs) / 1000);
      last.set(nowMs / 1000);
    },
  };
}

export type RelistMeter = ReturnType<typeof relistMeter>;

/** The pods and containers of this node, as the workers know them at the time of a scrape. */
export function measureWorkers(
  metrics: MetricsRegistry,
  records: () => Iterable<{ readonly containers: ReadonlyMap<string, ObservedContainer> }>,
): void {
  const all = (): ObservedContainer[] => [...records()].flatMap(({ containers }) => [...containers.values()]);
  metrics.read(agentMetrics.workers, () => [...records()].length);
  metrics.read(
    agentMetrics.pods,
    () => all().filter(({ containerName, state }) => containerName === sandboxName && state === 'running').length,
  );
  metrics.read(agentMetrics.containers, () => {
    const byState = new Map<string, number>([
      ['running', 0],
      ['exited', 0],
    ]);
    for (const { containerName, state } of all())
      if (containerName !== sandboxName) byState.set(state, (byState.get(state) ?? 0) + 1);
    return [...byState].map(([state, value]) => ({ labels: [state], value }));
  });
}

/**
 * What containers use, on pages of their own as the kubelet has them: they name pods,
 * and are made from hundreds of files.
 */
export function addFigurePages(
  metrics: MetricsRegistry,
  machine: Pick<MachineReader, 'cadvisor' | 'resource'>,
  containers: () => readonly ObservedContainer[],
): void {
  metrics.addPage('/metrics/cadvisor', () => machine.cadvisor(containers()));
  metrics.addPage('/metrics/resource', () => machine.resource(containers()));
}
