import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { recordedContainer as id, layOutMachine } from '../../../test/fixtures/lay-out.ts';
import { readSmallFile } from '../small-file.ts';
import { createContainerReader } from './container-reader.ts';
import { type DeviceFigures, figure, workingSetOf } from './figures.ts';

const roots: string[] = [];
afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true, force: true });
});

function layOut(name: string): string {
  const root = layOutMachine(name);
  roots.push(root);
  return root;
}

type Named = Partial<Record<keyof typeof figure | 'workingSet' | 'path', number | string>>;

/** What is known of the recorded container, by name. */
function readAll(name: string): { known: Named; devices: DeviceFigures[] } {
  const reading = createContainerReader(layOut(name), readSmallFile).read({ id, pid: 77 }, true);
  if (reading === undefined) throw new Error(`nothing is known of the container of ${name}`);
  const { figures, path } = reading;
  const known: Named = { path };
  for (const [key, at] of Object.entries(figure)) {
    const value = figures.values[at]!;
    if (!Number.isNaN(value)) known[key as keyof typeof figure] = Number(value.toPrecision(12));
  }
  const workingSet = workingSetOf(figures);
  if (!Number.isNaN(workingSet)) known.workingSet = workingSet;
  return { known, devices: [...figures.devices.values()] };
}

const processor = { cpuSeconds: 29.144593, cpuUserSeconds: 18, cpuSystemSeconds: 11 };
const throttling = { cpuPeriods: 120, cpuThrottledPeriods: 30, cpuThrottledSeconds: 2.5 };
const limited = { cpuShares: 512, cpuQuota: 50_000, cpuPeriod: 100_000 };
const disk = { readBytes: 4196, writeBytes: 1_048_776, reads: 3, writes: 19 };
const pressure = {
  cpuWaitingSeconds: 0.220378,
  cpuStalledSeconds: 0.215539,
  memoryWaitingSeconds: 1.5,
  memoryStalledSeconds: 1,
  ioWaitingSeconds: 3,
  ioStalledSeconds: 2,
};
const pids = { threads: 5, threadsLimit: 0, processes: 2 };

const memory1 = {
  memoryUsage: 9_322_496,
  workingSet: 9_322_496 - 8_388_608,
  memoryPeak: 10_461_184,
  memoryInactiveFile: 8_388_608,
  memoryActiveFile: 4096,
  memoryCache: 8_392_704,
  memoryRss: 106_496,
  memorySwap: 12_288,
  memoryMapped: 4096,
  memoryKernel: 593_920,
  memoryFailures: 3,
  pageFaults: 1518,
  majorPageFaults: 7,
  oomKills: 2,
  memoryLimit: 67_108_864,
  memoryReservation: 0,
};
const version1 = {
  path: `/docker/${id}`,
  ...processor,
  ...throttling,
  ...limited,
  ...memory1,
  memorySwapLimit: 134_217_728,
  ...pids,
  ...disk,
};

const memory2 = {
  memoryUsage: 52_428_800,
  workingSet: 52_428_800 - 10_485_760,
  memoryPeak: 60_000_000,
  memoryInactiveFile: 10_485_760,
  memoryActiveFile: 9_437_184,
  memoryCache: 20_971_520,
  memoryRss: 31_457_280,
  memorySwap: 8192,
  memoryMapped: 2_097_152,
  memoryKernel: 1_048_576,
  memoryFailures: 11,
  pageFaults: 2222,
  majorPageFaults: 33,
  oomKills: 2,
  memoryLimit: 104_857_600,
  memorySwapLimit: 0,
  memoryReservation: 0,
};
const processor2 = { ...processor, cpuSystemSeconds: 11.144593 };
const version2 = {
  path: `/system.slice/docker-${id}.scope`,
  ...processor2,
  ...throttling,
  ...limited,
  // A weight of 20, in shares.
  cpuShares: 500,
  ...memory2,
  ...pids,
  threadsLimit: 100,
  ...disk,
  ...pressure,
};

const without = (figures: Named, ...names: (keyof Named)[]): Named =>
  Object.fromEntries(Object.entries(figures).filter(([name]) => !names.includes(name as keyof Named)));

describe('the figures of a container', () => {
  it.each<[string, Named]>([
    ['v1-cgroupfs-hybrid', { ...version1, ...pressure }],
    // Without a limit of processor time, with one of threads, and without any accounting of swap's limit.
    [
      'v1-systemd',
      {
        ...without(version1, 'cpuQuota', 'memorySwapLimit'),
        path: `/system.slice/docker-${id}.scope`,
        cpuPeriods: 0,
        cpuThrottledPeriods: 0,
        cpuThrottledSeconds: 0,
        threadsLimit: 4915,
      },
    ],
    ['v1-docker-in-docker', { ...version1, path: `/docker/${'beef'.repeat(16)}/docker/${id}` }],
    ['v1-without-memory', { path: `/docker/${id}`, ...processor, ...throttling, ...limited, ...pids }],
    ['v2-systemd', version2],
    [
      'v2-cgroupfs',
      {
        ...without(version2, 'cpuQuota', 'memoryPeak', 'memoryKernel', ...(Object.keys(pressure) as (keyof Named)[])),
        path: `/docker/${id}`,
        cpuPeriods: 0,
        cpuThrottledPeriods: 0,
        cpuThrottledSeconds: 0,
        threadsLimit: 0,
        readBytes: 4096,
        writeBytes: 1_048_576,
        reads: 1,
        writes: 16,
      },
    ],
    [
      'v2-rootless',
      {
        path: `/user.slice/user-1000.slice/user@1000.service/user.slice/docker-${id}.scope`,
        ...processor2,
        ...memory2,
        ...pids,
        threadsLimit: 100,
        // Kernels before 5.13 do not tell when nothing got a processor.
        ...without(pressure, 'cpuStalledSeconds'),
      },
    ],
    // Its own cgroup, not the one below it that its first process is in.
    ['v2-systemd-inside', version2],
    [
      'v2-own-parent',
      {
        ...version2,
        path: `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0a.slice/docker-${id}.scope`,
      },
    ],
  ])('are what the files of %s say', (name, expected) => {
    expect(readAll(name).known).toEqual(expected);
  });

  it.each(['v1-cgroupfs-hybrid', 'v1-systemd', 'v2-systemd'])('tell devices apart: %s', (name) => {
    expect(readAll(name).devices).toEqual([
      { device: '8:0', readBytes: 4096, writeBytes: 1_048_576, reads: 1, writes: 16 },
      { device: '253:0', readBytes: 100, writeBytes: 200, reads: 2, writes: 3 },
    ]);
  });

  it('know the device of a line that names others before it', () => {
    expect(readAll('v2-cgroupfs').devices.map(({ device }) => device)).toEqual(['8:0']);
  });

  it('are read in part for samples: the counters and memory, no limits', () => {
    const reader = createContainerReader(layOut('v2-systemd'), readSmallFile);
    const { values } = reader.read({ id, pid: 77 }, false)!.figures;
    expect([values[figure.cpuSeconds], values[figure.memoryUsage], values[figure.memoryLimit]]).toEqual([
      29.144593,
      52_428_800,
      Number.NaN,
    ]);
  });
});

describe('a container that ends', () => {
  /** Reads as usual until so many files were read; from then on nothing is there any more. */
  function vanishingAfter(reads: number) {
    let left = reads;
    return { read: (path: string) => (left-- > 0 ? readSmallFile(path) : undefined), revive: () => (left = 1_000) };
  }

  it.each(['v1-cgroupfs-hybrid', 'v2-systemd'])(
    'in the middle of a read leaves what was read, and never an error: %s',
    (name) => {
      const root = layOut(name);
      for (let reads = 0; reads < 60; reads++) {
        const files = vanishingAfter(reads);
        const reader = createContainerReader(root, files.read);
        const reading = reader.read({ id, pid: 77 }, true);
        const cpu = reading?.figures.values[figure.cpuSeconds] ?? Number.NaN;
        expect(Number.isNaN(cpu) || cpu === 29.144593).toBe(true);
        // The next one gets everything again, whatever was missing before.
        files.revive();
        if (reading === undefined) expect(reader.read({ id, pid: 77 }, true)?.figures.values[figure.cpuSeconds]).toBe(29.144593);
      }
    },
  );

  it('is not there any more, and what comes back under its name is looked for anew', () => {
    const root = layOut('v2-systemd');
    const reader = createContainerReader(root, readSmallFile);
    expect(reader.read({ id, pid: 77 }, true)).toBeDefined();
    rmSync(join(root, 'sys/fs/cgroup/system.slice'), { recursive: true });
    expect(reader.read({ id, pid: 77 }, true)).toBeUndefined();
    expect(reader.read({ id, pid: 78 }, true)).toBeUndefined();
    expect(reader.read({ id, pid: undefined }, true)).toBeUndefined();
  });

  it('does not lend its figures to another one that got its process id', () => {
    const reader = createContainerReader(layOut('v2-systemd'), readSmallFile);
    expect(reader.read({ id: 'abcd'.repeat(16), pid: 77 }, true)).toBeUndefined();
  });
});

describe('the figures of the machine', () => {
  it.each([
    ['v1-cgroupfs-hybrid', { cpu: 1735, usage: 5e9, workingSet: 4e9 }],
    ['v2-systemd', { cpu: 1735, usage: Number.NaN, workingSet: Number.NaN }],
  ])('are those of the root cgroup: %s', (name, { cpu, usage, workingSet }) => {
    const values = createContainerReader(layOut(name), readSmallFile).readWhole()!;
    expect([values[figure.cpuSeconds], values[figure.memoryUsage], workingSetOf({ values })]).toEqual([cpu, usage, workingSet]);
  });

  it.each(['v1-docker-in-docker', 'v1-without-memory'])('are not those of a part of it: %s', (name) => {
    expect(createContainerReader(layOut(name), readSmallFile).readWhole()).toBeUndefined();
  });
});
