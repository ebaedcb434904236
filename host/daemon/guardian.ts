import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type ProcessName, readBerthProcess } from '../processes/berth-processes.ts';
import { ownBuild } from '../processes/own-build.ts';
import { noteVersion, processNames, rescue } from '../processes/processes.ts';

/** A lost keeper is replaced within this time; what one look costs is two small files for each process. */
const everyMs = 5_000;

export interface Guarded {
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Server and agent look after each other and after themselves: a keeper that was killed is started again, with its
 * process or without. Only for a process that was started by a keeper: one that was started by hand or by systemd is
 * left alone.
 */
export async function runGuardian(dataDir: string, name: ProcessName, { logger, signal }: Guarded): Promise<void> {
  const hasKeeper = readBerthProcess(process.ppid, dataDir)?.isKeeper === true;
  if (!hasKeeper && !isUnit()) return;
  try {
    noteVersion(dataDir, name, ownBuild());
  } catch (err) {
    logger.warn({ err }, 'cannot note the version of this process; "berth up" will not know it');
  }
  while (hasKeeper && !signal.aborted) {
    try {
      await delay(everyMs, undefined, { signal, ref: false });
    } catch {
      // Aborted: the process is ending.
      return;
    }
    for (const each of processNames) rescueOne(dataDir, each, logger);
  }
}

/** Whether systemd started this process. */
function isUnit(): boolean {
  return process.ppid === 1 && process.env.INVOCATION_ID !== undefined;
}

function rescueOne(dataDir: string, name: (typeof processNames)[number], logger: Logger): void {
  try {
    if (rescue(dataDir, name)) logger.warn({ name }, 'the keeper of a process was gone, started a new one');
  } catch (err) {
    logger.warn({ name, err }, 'cannot start the keeper of a process, will retry');
  }
}
