import type { Figure } from '../figure.ts';
import { type Part, runParts } from '../parts.ts';
import { benchDeployments } from './deployments.ts';
import { benchJobs } from './jobs.ts';

const parts: Readonly<Record<string, Part>> = { deployments: benchDeployments, jobs: benchJobs };

/**
 * `npm run bench -- workloads [PART...]`: the controllers at work on 500 hollow nodes, with a real server (API,
 * scheduler and controllers in one process), TLS and durable storage. Each time is compared with what the counted
 * writes take at the rate of bulk creates that was measured in the same run.
 */
export function benchWorkloads(say: (text: string) => void, names: readonly string[]): Promise<Figure[]> {
  return runParts({ name: 'workloads', parts }, say, names);
}
