import type { Figure } from '../figure.ts';
import { type Part, runParts } from '../parts.ts';
import { benchChurn } from './churn.ts';
import { benchLogs } from './logs.ts';
import { benchPods } from './pods.ts';
import { benchProbes } from './probes.ts';
import { benchRunning } from './running.ts';

/** Each starts a server and an agent of its own and returns its figures with the bounds they must keep. */
const parts: Readonly<Record<string, Part>> = {
  pods: benchPods,
  running: benchRunning,
  probes: benchProbes,
  logs: benchLogs,
  churn: benchChurn,
};

/**
 * `npm run bench -- agent [PART...]`: how fast pods come and go, against the engine driven directly in the same run,
 * and what the agent costs. Without parts all but `churn`, which takes half an hour, or as many minutes as
 * `churn=MINUTES` says.
 */
export function benchAgent(say: (text: string) => void, names: readonly string[]): Promise<Figure[]> {
  return runParts({ name: 'agent', parts, onlyNamed: ['churn'] }, say, names);
}
