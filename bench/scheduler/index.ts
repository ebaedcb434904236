import type { Figure } from '../figure.ts';
import { type Part, runParts } from '../parts.ts';
import { benchDecision } from './decision.ts';
import { benchMemory } from './memory.ts';
import { benchWorkload } from './run.ts';
import { workloads } from './workloads.ts';

/** The workloads, each on a server and a scheduler of its own, then what needs no API. */
const parts: Readonly<Record<string, Part>> = {
  ...Object.fromEntries(Object.entries(workloads).map(([name, workload]) => [name, (say) => benchWorkload(workload, say)])),
  memory: benchMemory,
  decision: benchDecision,
};

/**
 * `npm run bench -- scheduler [PART...]`: Kubernetes' scheduler_perf workloads with everything real but the nodes: API
 * server and scheduler as processes, TLS, durable storage, pods created through the API. All parts unless some are
 * named.
 */
export function benchScheduler(say: (text: string) => void, names: readonly string[]): Promise<Figure[]> {
  return runParts({ name: 'scheduler', parts }, say, names);
}
