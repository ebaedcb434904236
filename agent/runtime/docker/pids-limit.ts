import { readFileSync } from 'node:fs';

/** Enough for regular programs; stops a fork bomb before the machine runs out of process ids. */
export const defaultContainerPids = 4_096;

/**
 * The limit of processes and threads per container: the configured one, or the machine's if that is lower. 0 is no
 * limit.
 */
export function pidsLimitOf(asked: number = defaultContainerPids, pidMax: number | undefined = readPidMax()): number {
  return pidMax === undefined || asked === 0 ? asked : Math.min(asked, pidMax);
}

/** The highest process id of this machine; undefined where the kernel does not say. */
function readPidMax(): number | undefined {
  try {
    return Number(readFileSync('/proc/sys/kernel/pid_max', 'latin1')) || undefined;
  } catch {
    return undefined;
  }
}
