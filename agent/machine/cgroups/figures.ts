/**
 * Where each figure of a container stands in `ContainerFigures.values`. Counters are since the container started; NaN
 * is what this machine does not tell. Seconds and bytes throughout.
 */
export const figure = {
  cpuSeconds: 0,
  cpuUserSeconds: 1,
  cpuSystemSeconds: 2,
  cpuPeriods: 3,
  cpuThrottledPeriods: 4,
  cpuThrottledSeconds: 5,
  /** As Docker and Kubernetes count: 1024 is one core's weight. */
  cpuShares: 6,
  /** Microseconds of processor time in each period; NaN without a limit. */
  cpuQuota: 7,
  cpuPeriod: 8,
  memoryUsage: 9,
  memoryPeak: 10,
  memoryInactiveFile: 11,
  memoryActiveFile: 12,
  memoryCache: 13,
  memoryRss: 14,
  memorySwap: 15,
  memoryMapped: 16,
  memoryKernel: 17,
  /** How often usage hit the limit. */
  memoryFailures: 18,
  pageFaults: 19,
  majorPageFaults: 20,
  /** Processes that the kernel killed for memory. */
  oomKills: 21,
  /** 0 is no limit, as in cAdvisor. */
  memoryLimit: 22,
  memorySwapLimit: 23,
  memoryReservation: 24,
  threads: 25,
  /** 0 is no limit. */
  threadsLimit: 26,
  processes: 27,
  readBytes: 28,
  writeBytes: 29,
  reads: 30,
  writes: 31,
  /** Pressure: time in which some processes waited, and in which none got on. */
  cpuWaitingSeconds: 32,
  cpuStalledSeconds: 33,
  memoryWaitingSeconds: 34,
  memoryStalledSeconds: 35,
  ioWaitingSeconds: 36,
  ioStalledSeconds: 37,
} as const;

export type Figure = (typeof figure)[keyof typeof figure];

export const figureCount = Object.keys(figure).length;

/** What went to and from one block device. */
export interface DeviceFigures {
  /** "8:0": major and minor number. */
  readonly device: string;
  readBytes: number;
  writeBytes: number;
  reads: number;
  writes: number;
}

/** What one cgroup has used up to now. A reused buffer: copy what is to be kept. */
export interface ContainerFigures {
  readonly values: Float64Array;
  readonly devices: Map<string, DeviceFigures>;
}

export function createFigures(): ContainerFigures {
  return { values: new Float64Array(figureCount).fill(Number.NaN), devices: new Map() };
}

export function clearFigures({ values, devices }: ContainerFigures): void {
  values.fill(Number.NaN);
  devices.clear();
}

/** Memory that cannot be taken back without harm: what is used without inactive file pages. NaN when unknown. */
export function workingSetOf({ values }: Pick<ContainerFigures, 'values'>): number {
  const inactive = values[figure.memoryInactiveFile]!;
  return Math.max(0, values[figure.memoryUsage]! - (Number.isNaN(inactive) ? 0 : inactive));
}
