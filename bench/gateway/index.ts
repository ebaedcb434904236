import type { Figure } from '../figure.ts';
import { type Part, runParts } from '../parts.ts';
import { benchCalls } from './calls.ts';
import { benchFanOut } from './fan-out.ts';
import { benchLists } from './lists.ts';
import { benchMemory } from './memory.ts';

/** The parts in the order in which they run; each starts a server of its own. */
const parts: Readonly<Record<string, Part>> = {
  lists: benchLists,
  calls: benchCalls,
  'fan-out': benchFanOut,
  memory: benchMemory,
};

/**
 * `npm run bench -- gateway [PART...]`: Kubernetes' HTTP API beside the gRPC door of the same server, in turns; all
 * parts unless some are named.
 */
export function benchGateway(say: (text: string) => void, names: readonly string[]): Promise<Figure[]> {
  return runParts({ name: 'gateway', parts }, say, names);
}
