import { readdirSync, readFileSync } from 'node:fs';

// A command that starts processes as fast as they are ended is stopped after so many; the rest ends with its container.
const mostProcesses = 1_000;

/**
 * Ends a process that the engine started in a container, with everything it started; the engine has no call for it.
 * Does nothing, and says false, for a process that is not that container's: process ids are used again, and the engine
 * may be on another machine.
 */
export function killCommand(pid: number, containerId: string, proc = '/proc', kill = killProcess): boolean {
  if (!isOf(proc, pid, containerId)) return false;
  const found = [pid];
  // Parents first: a killed parent starts no further children.
  for (let at = 0; at < found.length && at < mostProcesses; at++) {
    const children = childrenOf(proc, found[at]!);
    kill(found[at]!);
    found.push(...children.filter((child) => !found.includes(child)));
  }
  return true;
}

/** Whether a process is one of a container: the kernel names the container's id in its cgroup. */
export function isOf(proc: string, pid: number, containerId: string): boolean {
  return read(() => readFileSync(`${proc}/${pid}/cgroup`, 'latin1'))?.includes(containerId) === true;
}

/**
 * Each thread has children of its own. One that ends meanwhile hands its children to another, and must not hide theirs.
 */
function childrenOf(proc: string, pid: number): number[] {
  const threads = read(() => readdirSync(`${proc}/${pid}/task`)) ?? [];
  const texts = threads.map((thread) => read(() => readFileSync(`${proc}/${pid}/task/${thread}/children`, 'latin1')) ?? '');
  return texts.flatMap((text) => text.split(' ').filter(Boolean).map(Number));
}

/** Undefined of what is gone. */
function read<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}

/** No matter whether it is still there. */
export function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
