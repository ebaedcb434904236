import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { parsePressure } from './cgroups/pressure.ts';
import { type InterfaceCounters, parseDefaultInterface, parseNetDev, sumTraffic, type Traffic } from './network.ts';
import { type Disk, type MemInfo, parseCores, parseCpuBusySeconds, parseDisks, parseLoad, parseMemInfo } from './parse.ts';
import { type ReadSmallFile, readSmallFile } from './small-file.ts';

/** What the machine says of itself at one moment; counters since boot where rates are made of them. */
export interface MachineFigures {
  readonly cores: number;
  readonly cpuBusySeconds: number | undefined;
  readonly memory: MemInfo | undefined;
  readonly disk: DiskFill | undefined;
  /** The interfaces that lead out of the machine. */
  readonly interfaces: readonly InterfaceCounters[];
  readonly network: Traffic;
  /** All block devices, to give numbers their names. */
  readonly disks: readonly Disk[];
  readonly load: readonly [number, number, number] | undefined;
  /**
   * Seconds since boot in which some processes waited for it, and in which none got on;
   * NaN where the kernel does not tell.
   */
  readonly pressure: Readonly<Record<PressureResource, { readonly waitingSeconds: number; readonly stalledSeconds: number }>>;
}

export type PressureResource = 'cpu' | 'memory' | 'io';

/** A file system. */
export interface DiskFill {
  readonly usedBytes: number;
  readonly sizeBytes: number;
  readonly files: number;
  readonly filesFree: number;
}

/** Reads it all: a handful of small files, half a millisecond. `root` is "/", `dataDir` says which disk is meant. */
export async function readMachineFigures(
  root: string,
  dataDir: string,
  readFile: ReadSmallFile = readSmallFile,
): Promise<MachineFigures> {
  const read = (path: string) => readFile(join(root, path)) ?? '';
  const stat = read('proc/stat');
  const all = parseNetDev(read('proc/net/dev'));
  const interfaces = physicalInterfaces(root, all, () => parseDefaultInterface(read('proc/net/route')));
  return {
    cores: parseCores(stat),
    cpuBusySeconds: parseCpuBusySeconds(stat),
    memory: parseMemInfo(read('proc/meminfo')),
    disk: await readDiskFill(dataDir),
    interfaces,
    network: sumTraffic(interfaces),
    disks: parseDisks(read('proc/diskstats')),
    load: parseLoad(read('proc/loadavg')),
    pressure: {
      cpu: parsePressure(read('proc/pressure/cpu')),
      memory: parsePressure(read('proc/pressure/memory')),
      io: parsePressure(read('proc/pressure/io')),
    },
  };
}

/**
 * Interfaces with a device behind them: a pod's traffic would count again on its bridge. Inside of a container none
 * has: the default route's then.
 */
function physicalInterfaces(
  root: string,
  interfaces: readonly InterfaceCounters[],
  fallback: () => string | undefined,
): readonly InterfaceCounters[] {
  // A node has one of these for each pod; they have no device.
  const candidates = interfaces.filter(({ name }) => !name.startsWith('veth'));
  const physical = candidates.filter(({ name }) => existsSync(join(root, 'sys/class/net', name, 'device')));
  if (physical.length > 0) return physical;
  const only = fallback();
  return interfaces.filter(({ name }) => name === only);
}

/** Disks themselves: what is in memory or lies on another block device would count twice, and so would partitions. */
export function physicalDisks(root: string, disks: readonly Disk[]): Disk[] {
  const real = disks.filter(({ name }) => !/^(loop|ram|zram|dm-|md|sr|fd)/.test(name));
  return real.filter(({ name }) => existsSync(join(root, 'sys/block', name)));
}

export async function readDiskFill(path: string): Promise<DiskFill | undefined> {
  try {
    const { blocks, bfree, bsize, files, ffree } = await statfs(path);
    return { usedBytes: (blocks - bfree) * bsize, sizeBytes: blocks * bsize, files, filesFree: ffree };
  } catch {
    return undefined;
  }
}
