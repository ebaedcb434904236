import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { readOrNothing } from './container-usage.ts';
import {
  type InterfaceBytes,
  parseCpuBusySeconds,
  parseDefaultInterface,
  parseLoad,
  parseMemInfo,
  parseNetDev,
  sumInterfaces,
} from './parse.ts';

/** What the machine says of itself at one moment; counters since boot where rates are made of them. */
export interface MachineFigures {
  readonly cpuBusySeconds: number | undefined;
  readonly memoryUsedBytes: number | undefined;
  readonly disk: { readonly usedBytes: number; readonly sizeBytes: number } | undefined;
  readonly network: { readonly received: number; readonly sent: number };
  readonly load: readonly [number, number, number] | undefined;
}

/** Reads it all: a handful of small files, half a millisecond. `root` is "/", `dataDir` says which disk is meant. */
export async function readMachineFigures(root: string, dataDir: string): Promise<MachineFigures> {
  const read = (path: string) => readOrNothing(join(root, path)) ?? '';
  const memory = parseMemInfo(read('proc/meminfo'));
  const interfaces = parseNetDev(read('proc/net/dev'));
  return {
    cpuBusySeconds: parseCpuBusySeconds(read('proc/stat')),
    memoryUsedBytes: memory && memory.total - memory.available,
    disk: await readDisk(dataDir),
    network: sumInterfaces(physicalInterfaces(root, interfaces, parseDefaultInterface(read('proc/net/route')))),
    load: parseLoad(read('proc/loadavg')),
  };
}

/** Interfaces with a device behind them: a pod's traffic would count again on its bridge. Inside of a container none has: the default route's then. */
function physicalInterfaces(
  root: string,
  interfaces: readonly InterfaceBytes[],
  fallback: string | undefined,
): readonly InterfaceBytes[] {
  const physical = interfaces.filter(({ name }) => existsSync(join(root, 'sys/class/net', name, 'device')));
  return physical.length > 0 ? physical : interfaces.filter(({ name }) => name === fallback);
}

async function readDisk(dataDir: string): Promise<MachineFigures['disk']> {
  try {
    const { blocks, bfree, bsize } = await statfs(dataDir);
    return { usedBytes: (blocks - bfree) * bsize, sizeBytes: blocks * bsize };
  } catch {
    return undefined;
  }
}
