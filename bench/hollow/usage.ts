import type { MachineReader } from '../../agent/machine/machine-reader.ts';
import { createUsageHistory, nodeSeries } from '../../agent/machine/usage-history.ts';
import { type ObservedContainer, sandboxName } from '../../agent/runtime/runtime.ts';
import type { ContainerMetrics, PodMetrics, Quantity } from '../../api/generated/types.ts';
import { formatCpu, formatMemory } from '../../api/meta/quantity.ts';
import { timestamp } from '../../api/meta/time.ts';
import type { Clock } from '../../client/clock.ts';
import type { ContainerRequests, PodBook } from './pod-book.ts';

export interface HollowUsageOptions {
  readonly nodeName: string;
  readonly book: Pick<PodBook, 'of'>;
  /** How much of their requests containers use. */
  readonly percent: number;
  readonly clock: Clock;
}

/** As often as the agent reads usage. */
const windowSeconds = 15;
const seriesCount = Object.keys(nodeSeries).length;

/**
 * Says that containers use a part of what they request. The history has the node alone: those of 10 pods would take ten
 * times the memory, and say nothing that changes.
 */
export function createHollowUsage({ nodeName, book, percent, clock }: HollowUsageOptions): MachineReader {
  const history = createUsageHistory();

  function usageOf({ podUid, containerName }: ObservedContainer): ContainerRequests {
    const { cpuMilli = 0, memoryBytes = 0 } = book.of(podUid)?.requests.get(containerName) ?? {};
    return { cpuMilli: (cpuMilli * percent) / 100, memoryBytes: (memoryBytes * percent) / 100 };
  }

  return {
    history,
    async sample(containers) {
      const total = { cpuMilli: 0, memoryBytes: 0 };
      const pods = new Map<string, PodMetrics & { readonly containers: ContainerMetrics[] }>();
      for (const container of containers) {
        const { podUid, podName, podNamespace, containerName, state } = container;
        if (state !== 'running' || containerName === sandboxName) continue;
        const used = usageOf(container);
        total.cpuMilli += used.cpuMilli;
        total.memoryBytes += used.memoryBytes;
        const pod = pods.get(podUid) ?? { namespace: podNamespace, name: podName, uid: podUid, containers: [] };
        pods.set(podUid, pod);
        pod.containers.push({ name: containerName, usage: quantities(used) });
      }
      const nowMs = clock.now();
      history.begin(nowMs);
      const values = new Float64Array(seriesCount).fill(Number.NaN);
      values.set([total.cpuMilli / 1000, total.memoryBytes]);
      history.add('', values);
      const moment = timestamp(new Date(nowMs));
      const usage = quantities(total);
      const node = { timestamp: moment, ...usage, windowSeconds };
      return {
        usage: node,
        metrics: {
          metadata: { name: nodeName },
          timestamp: moment,
          window: { seconds: windowSeconds },
          usage,
          node,
          pods: [...pods.values()],
        },
      };
    },
    cadvisor: async () => '',
    resource: async () => '',
  };
}

function quantities({ cpuMilli, memoryBytes }: ContainerRequests): { readonly cpu: Quantity; readonly memory: Quantity } {
  return { cpu: { string: formatCpu(cpuMilli) }, memory: { string: formatMemory(memoryBytes) } };
}
