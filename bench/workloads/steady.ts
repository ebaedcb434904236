import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { atMost, type Figure, note } from '../figure.ts';
import { cpuSeconds, mappedMegabytes, readMemory } from '../process-costs.ts';
import type { WorkloadCluster } from './cluster.ts';

/** Watch caches keep what happened for five minutes. */
const settleMs = 330_000;
const windowSeconds = 60;
/** Of one core, and megabytes, with 500 hollow nodes. */
const most = { cpuPercent: 10, megabytes: 400 };

/**
 * What the server takes while nothing changes but heartbeats. The pages of the store's file that it has mapped count;
 * they hold up to an hour of history and are the kernel's to take back, so they are told beside it.
 */
export async function steadyState({ server, writes }: WorkloadCluster, say: (text: string) => void): Promise<Figure[]> {
  await writes.quiet(5_000);
  say('at rest');
  await delay(settleMs);
  const pid = server.server.pid!;
  const before = cpuSeconds([pid]);
  await delay(windowSeconds * 1000);
  const percent = ((cpuSeconds([pid]) - before) / windowSeconds) * 100;
  const { total, anonymous } = readMemory([pid]);
  const store = mappedMegabytes(pid, join(server.dataDir, 'store', 'data.mdb'));
  if (store === 0) throw new Error('the server maps no pages of its store');
  return [
    atMost("server's processor at rest, of one core", percent, '%', most.cpuPercent),
    atMost("server's memory at rest", total, 'MB', most.megabytes),
    note("server's memory at rest, without the store's pages", total - store, 'MB'),
    note("server's anonymous memory at rest", anonymous, 'MB'),
    note("pages of the store's file", store, 'MB'),
    note('window', windowSeconds, 's'),
  ];
}
