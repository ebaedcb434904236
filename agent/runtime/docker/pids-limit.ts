import { readFileSync } from 'node:fs';

/** Enough for every program that is no attack; a fork bomb meets it before the machine is out of process ids. */
export const defaultContainerPids = 4_096;

/** How many processes and threads each container may have: what was asked for, or what the machine allows if that is less. 0 is no limit. */
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
