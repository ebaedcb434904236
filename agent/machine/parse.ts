/**
 * Readers of the kernel's text files about the machine. Pure; a file that is not as expected reads as undefined or
 * empty, never as zero usage.
 */

// The kernel's USER_HZ; 100 on every machine that Linux runs on today.
const ticksPerSecond = 100;
// What /proc/diskstats counts in, whatever the disk's own sectors are.
const sectorBytes = 512;

/**
 * Seconds that all processors together were busy since boot, of the first line of /proc/stat:
 * everything but idle and waiting for disks.
 */
export function parseCpuBusySeconds(stat: string): number | undefined {
  const line = /^cpu +(.*)$/m.exec(stat)?.[1];
  if (line === undefined) return undefined;
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line.split(' ').map(Number);
  // Guest time is counted in user time already.
  return (user + nice + system + irq + softirq + steal) / ticksPerSecond;
}

/** How many processors /proc/stat tells of. */
export function parseCores(stat: string): number {
  return stat.match(/^cpu\d/gm)?.length ?? 0;
}

export interface MemInfo {
  readonly total: number;
  readonly available: number;
  /** 0 where there is no swap. */
  readonly swapTotal: number;
  readonly swapFree: number;
}

/** Bytes of /proc/meminfo. */
export function parseMemInfo(text: string): MemInfo | undefined {
  const bytes = (name: string) => {
    const found = new RegExp(`^${name}: +(\\d+) kB$`, 'm').exec(text)?.[1];
    return found === undefined ? undefined : Number(found) * 1024;
  };
  const [total, available] = [bytes('MemTotal'), bytes('MemAvailable')];
  if (total === undefined || available === undefined) return undefined;
  return { total, available, swapTotal: bytes('SwapTotal') ?? 0, swapFree: bytes('SwapFree') ?? 0 };
}

export function parseLoad(text: string): readonly [number, number, number] | undefined {
  const [one, five, fifteen] = text.split(' ').map(Number);
  if (one === undefined || five === undefined || fifteen === undefined) return undefined;
  return [one, five, fifteen];
}

/** A block device of /proc/diskstats. */
export interface Disk {
  /** "8:0": major and minor number. */
  readonly device: string;
  readonly name: string;
  readonly reads: number;
  readonly readBytes: number;
  readonly writes: number;
  readonly writeBytes: number;
}

/** Lines "major minor name reads merged sectors-read ms writes merged sectors-written ...". */
export function parseDisks(text: string): Disk[] {
  const found: Disk[] = [];
  for (const line of text.split('\n')) {
    const [major, minor, name, reads, , sectorsRead, , writes, , sectorsWritten] = line.trim().split(/ +/);
    if (name === undefined || sectorsWritten === undefined) continue;
    found.push({
      device: `${major}:${minor}`,
      name,
      reads: Number(reads),
      readBytes: Number(sectorsRead) * sectorBytes,
      writes: Number(writes),
      writeBytes: Number(sectorsWritten) * sectorBytes,
    });
  }
  return found;
}
