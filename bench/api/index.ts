import type { Figure } from '../figure.ts';
import { UsageError } from '../usage-error.ts';
import { benchBulk } from './bulk.ts';
import { benchFanOut } from './fan-out.ts';
import { benchLists } from './lists.ts';
import { benchMemory } from './memory.ts';
import { benchRestart } from './restart.ts';
import { benchThroughput } from './throughput.ts';

type Bench = (say: (text: string) => void) => Promise<Figure[]>;

/** The parts in the order in which they run; each starts a server of its own and returns its figures with the bounds they must keep. */
const parts: Readonly<Record<string, Bench>> = {
  throughput: benchThroughput,
  bulk: benchBulk,
  'fan-out': benchFanOut,
  lists: benchLists,
  memory: benchMemory,
  restart: benchRestart,
};

/** `npm run bench -- api [PART...]`: what the API server carries, with server and load as processes of their own; all parts unless some are named. */
export async function benchApi(say: (text: string) => void, names: readonly string[]): Promise<Figure[]> {
  const unknown = names.filter((name) => !Object.hasOwn(parts, name));
  if (unknown.length > 0)
    throw new UsageError(`api has no part "${unknown.join('", "')}"; there are ${Object.keys(parts).join(', ')}`);
  const figures: Figure[] = [];
  for (const [name, bench] of Object.entries(parts)) {
    if (names.length > 0 && !names.includes(name)) continue;
    say(`api ${name}`);
    for (const figure of await bench(say)) figures.push({ ...figure, name: `${name}: ${figure.name}` });
  }
  return figures;
}
