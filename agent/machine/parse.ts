/** Readers of the kernel's text files. Pure; a file that is not as expected reads as undefined or empty, never as zero usage. */

// The kernel's USER_HZ; 100 on every machine that Linux runs on today.
const ticksPerSecond = 100;

/** Seconds that all processors together were busy since boot, of the first line of /proc/stat: everything but idle and waiting for disks. */
export function parseCpuBusySeconds(stat: string): number | undefined {
  const line = /^cpu +(.*)$/m.exec(stat)?.[1];
  if (line === undefined) return undefined;
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line.split(' ').map(Number);
  // Guest time is counted in user time already.
  return (user + nice + system + irq + softirq + steal) / ticksPerSecond;
}

/** Bytes by name of /proc/meminfo. */
export function parseMemInfo(text: string): { readonly total: number; readonly available: number } | undefined {
  const bytes = (name: string) => {
    const found = new RegExp(`^${name}: +(\\d+) kB$`, 'm').exec(text)?.[1];
    return found === undefined ? undefined : Number(found) * 1024;
  };
  const [total, available] = [bytes('MemTotal'), bytes('MemAvailable')];
  return total === undefined || available === undefined ? undefined : { total, available };
}

export function parseLoad(text: string): readonly [number, number, number] | undefined {
  const [one, five, fifteen] = text.split(' ').map(Number);
  if (one === undefined || five === undefined || fifteen === undefined) return undefined;
  return [one, five, fifteen];
}

export interface InterfaceBytes {
  readonly name: string;
  readonly received: number;
  readonly sent: number;
}

/** Each interface of /proc/net/dev with its counters since it came up. */
export function parseNetDev(text: string): InterfaceBytes[] {
  const found: InterfaceBytes[] = [];
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':');
    if (colon < 0) continue;
    const numbers = line
      .slice(colon + 1)
      .trim()
      .split(/ +/)
      .map(Number);
    const [received, sent] = [numbers[0], numbers[8]];
    if (received !== undefined && sent !== undefined) found.push({ name: line.slice(0, colon).trim(), received, sent });
  }
  return found;
}

export function sumInterfaces(interfaces: readonly InterfaceBytes[]): { readonly received: number; readonly sent: number } {
  return interfaces.reduce((sum, { received, sent }) => ({ received: sum.received + received, sent: sum.sent + sent }), {
    received: 0,
    sent: 0,
  });
}

/** The interface of the default route with the lowest metric, of /proc/net/route. */
export function parseDefaultInterface(route: string): string | undefined {
  let best: { readonly name: string; readonly metric: number } | undefined;
  for (const line of route.split('\n').slice(1)) {
    const [name, destination, , , , , metric, mask] = line.split(/\s+/);
    if (name === undefined || destination !== '00000000' || mask !== '00000000') continue;
    if (best === undefined || Number(metric) < best.metric) best = { name, metric: Number(metric) };
  }
  return best?.name;
}

/** Where a process's figures are: folders below /sys/fs/cgroup. */
export type CgroupPaths =
  | { readonly version: 1; readonly memory: string; readonly cpu: string }
  | { readonly version: 2; readonly unified: string };

/**
 * Finds them in /proc/<pid>/cgroup. Lines are "number:controllers:path"; version 2 is the line "0::path". On machines with both, the
 * controllers that are counted by version 1 have lines of their own. The path is whatever the engine's driver (cgroupfs or systemd) chose.
 */
export function parseCgroup(text: string): CgroupPaths | undefined {
  let unified: string | undefined;
  let memory: string | undefined;
  let cpu: string | undefined;
  for (const line of text.split('\n')) {
    const [, controllers, ...rest] = line.split(':');
    if (controllers === undefined || rest.length === 0) continue;
    // A path may hold colons of its own.
    const path = rest.join(':');
    const names = controllers.split(',');
    if (controllers === '') unified = path;
    if (names.includes('memory')) memory = `/${controllers}${path}`;
    if (names.includes('cpuacct')) cpu = `/${controllers}${path}`;
  }
  if (memory !== undefined && cpu !== undefined) return { version: 1, memory, cpu };
  return unified === undefined ? undefined : { version: 2, unified };
}

/** One figure of a file with a name and a number a line: memory.stat, cpu.stat. */
export function parseFigure(text: string, name: string): number | undefined {
  const found = new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}

/** Memory that cannot be taken back without harm: what is used without the file pages that nobody has touched lately. */
export function workingSet(usage: number, inactiveFile: number): number {
  return Math.max(0, usage - inactiveFile);
}
