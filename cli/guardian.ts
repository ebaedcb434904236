import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { readBerthProcess } from './berth-processes.ts';
import { packageVersion } from './commands/version.ts';
import { noteVersion, processNames, rescue } from './processes.ts';

/** A lost keeper is replaced within this time; what one look costs is two small files for each process. */
const everyMs = 5_000;

/**
 * Server and agent look after each other and after themselves: a keeper that was killed is started again, with its process or without.
 * Only for a process that was started by a keeper: one that somebody started by hand, or a service manager, is left to them.
 */
export async function runGuardian(dataDir: string, logger: Logger, signal: AbortSignal): Promise<void> {
  const keeper = readBerthProcess(process.ppid, dataDir);
  if (keeper?.isKeeper !== true) return;
  try {
    noteVersion(dataDir, keeper.name, packageVersion());
  } catch (err) {
    logger.warn({ err }, 'cannot note the version of this process; "berth up" will not know it');
  }
  while (!signal.aborted) {
    try {
      await delay(everyMs, undefined, { signal, ref: false });
    } catch {
      // Aborted: the process is ending.
      return;
    }
    for (const name of processNames) rescueOne(dataDir, name, logger);
  }
}

function rescueOne(dataDir: string, name: (typeof processNames)[number], logger: Logger): void {
  try {
    if (rescue(dataDir, name)) logger.warn({ name }, 'the keeper of a process was gone, started a new one');
  } catch (err) {
    logger.warn({ name, err }, 'cannot start the keeper of a process, will retry');
  }
}
