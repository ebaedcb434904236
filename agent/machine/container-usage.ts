import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CgroupPaths, parseCgroup, parseFigure, parseNetDev, sumInterfaces, workingSet } from './parse.ts';

/** What one container has used up to now. */
export interface ContainerFigures {
  readonly cpuSeconds: number;
  readonly workingSetBytes: number;
}

const nanosPerSecond = 1e9;
const microsPerSecond = 1e6;

/** A small file of the kernel's, or undefined when it is gone: a container may end at any moment. These files never block. */
export function readOrNothing(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return undefined;
  }
}

/** Where the process with this id is counted. The answer holds for the process's life. */
export function findCgroup(root: string, pid: number): CgroupPaths | undefined {
  const text = readOrNothing(join(root, 'proc', String(pid), 'cgroup'));
  return text === undefined ? undefined : parseCgroup(text);
}

export function readContainerFigures(root: string, paths: CgroupPaths): ContainerFigures | undefined {
  return paths.version === 1 ? readVersion1(root, paths) : readVersion2(root, paths.unified);
}

function readVersion1(root: string, paths: { readonly memory: string; readonly cpu: string }): ContainerFigures | undefined {
  const base = join(root, 'sys/fs/cgroup');
  const usage = readNumber(join(base, paths.memory, 'memory.usage_in_bytes'));
  const inactive = readFigure(join(base, paths.memory, 'memory.stat'), 'total_inactive_file');
  const cpu = readNumber(join(base, paths.cpu, 'cpuacct.usage'));
  if (usage === undefined || cpu === undefined) return undefined;
  return { cpuSeconds: cpu / nanosPerSecond, workingSetBytes: workingSet(usage, inactive ?? 0) };
}

function readVersion2(root: string, path: string): ContainerFigures | undefined {
  const folder = join(root, 'sys/fs/cgroup', path);
  const usage = readNumber(join(folder, 'memory.current'));
  const inactive = readFigure(join(folder, 'memory.stat'), 'inactive_file');
  const cpu = readFigure(join(folder, 'cpu.stat'), 'usage_usec');
  if (usage === undefined || cpu === undefined) return undefined;
  return { cpuSeconds: cpu / microsPerSecond, workingSetBytes: workingSet(usage, inactive ?? 0) };
}

/** Bytes through the network that this process sees, since it came up; for a pod the process is its sandbox's. */
export function readPodNetwork(root: string, pid: number): { readonly received: number; readonly sent: number } | undefined {
  const text = readOrNothing(join(root, 'proc', String(pid), 'net/dev'));
  return text === undefined ? undefined : sumInterfaces(parseNetDev(text).filter(({ name }) => name !== 'lo'));
}

function readNumber(path: string): number | undefined {
  const text = readOrNothing(path)?.trim();
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

function readFigure(path: string, name: string): number | undefined {
  const text = readOrNothing(path);
  return text === undefined ? undefined : parseFigure(text, name);
}
