import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ObservedContainer } from '../../runtime/runtime.ts';
import { type ReadSmallFile, readSmallFile } from '../small-file.ts';
import { computePlace, parseHierarchies, parseProcessCgroups } from './places.ts';

export interface OomGroupOptions {
  /** Where the kernel's files are. */
  readonly root?: string;
  readonly read?: ReadSmallFile;
  /** Told once when the kernel refuses. */
  readonly warn?: (message: string) => void;
}

/**
 * Lets the kernel kill all of a container's processes when one of them exceeds its memory limit (`memory.oom.group`),
 * as the kubelet does: a container of which a part is missing would go on unseen. Version 1 of cgroups has nothing of
 * the kind and kills one process. To be called once the container runs, since the engine has no setting for it; returns
 * whether it was set, and never throws.
 */
export function createOomGroups({ root = '/', read = readSmallFile, warn = () => {} }: OomGroupOptions = {}) {
  let warned = false;

  return (container: Pick<ObservedContainer, 'id' | 'pid'>): boolean => {
    const { id, pid } = container;
    const cgroups = pid === undefined ? undefined : read(join(root, 'proc', String(pid), 'cgroup'));
    if (cgroups === undefined) return false;
    const hierarchies = parseHierarchies(read(join(root, 'proc/self/mountinfo')) ?? '');
    const memory = computePlace(root, hierarchies, parseProcessCgroups(cgroups), id)?.folders.memory;
    if (memory?.version !== 2) return false;
    try {
      // Without making it: a cgroup that has gone, or has no such file, has none.
      writeFileSync(join(memory.folder, 'memory.oom.group'), '1', { flag: 'r+' });
      return true;
    } catch (error) {
      const gone = (error as NodeJS.ErrnoException).code === 'ENOENT' || (error as NodeJS.ErrnoException).code === 'ENODEV';
      if (!gone && !warned) {
        warned = true;
        const why = error instanceof Error ? error.message : String(error);
        warn(`a container at its memory limit loses one process, not all: cannot set memory.oom.group: ${why}`);
      }
      return false;
    }
  };
}
