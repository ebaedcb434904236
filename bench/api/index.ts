import type { Figure } from '../figure.ts';
import { type Part, runParts } from '../parts.ts';
import { benchApplies } from './applies.ts';
import { benchBadWebhooks } from './bad-webhooks.ts';
import { benchBulk } from './bulk.ts';
import { benchCustomObjects } from './custom-objects.ts';
import { benchDefinitions } from './definitions.ts';
import { benchFanOut } from './fan-out.ts';
import { benchLists } from './lists.ts';
import { benchMemory } from './memory.ts';
import { benchPolicies } from './policies.ts';
import { benchRestart } from './restart.ts';
import { benchThroughput } from './throughput.ts';

/**
 * The parts in the order in which they run; each starts a server of its own and returns its figures with the bounds
 * they must keep.
 */
const parts: Readonly<Record<string, Part>> = {
  throughput: benchThroughput,
  bulk: benchBulk,
  applies: benchApplies,
  policies: benchPolicies,
  'bad-webhooks': benchBadWebhooks,
  'custom-objects': benchCustomObjects,
  definitions: benchDefinitions,
  'fan-out': benchFanOut,
  lists: benchLists,
  memory: benchMemory,
  restart: benchRestart,
};

/**
 * `npm run bench -- api [PART...]`: what the API server carries, with server and load as processes of their own; all
 * parts unless some are named, but `bad-webhooks`, which takes long, only when it is named.
 */
export function benchApi(say: (text: string) => void, names: readonly string[]): Promise<Figure[]> {
  return runParts({ name: 'api', parts, onlyNamed: ['bad-webhooks'] }, say, names);
}
