import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ObservedContainer } from '../runtime/runtime.ts';
import { computeAddresses, computeCapacity, goArchitecture, readInventory } from './inventory.ts';
import { parseDefaultInterface, parseNetDev } from './network.ts';
import { parseCpuBusySeconds, parseMemInfo } from './parse.ts';
import { createUsageReader } from './usage-reader.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'berth-machine-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Lays recorded files out below the root. */
function record(files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

const netDev = (
  eth0: string,
  docker0 = '561 7 0 0 0 0 0 0 1946 19 0 5 0 0 0 0',
) => `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:    4222      41    0    0    0     0          0         0     4222      41    0    0    0     0       0          0
  eth0: ${eth0}
docker0: ${docker0}
`;
const stat = (user: number) => `cpu  ${user} 0 13368 421222 1552 0 297 88 700 0\ncpu0 19992 0 5970 213970 344 0 54 43 0 0\n`;
const memInfo = 'MemTotal:       24684084 kB\nMemFree:        23886460 kB\nMemAvailable:   24149444 kB\n';
const route = 'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n';

const machine = {
  'proc/stat': stat(44_359),
  'proc/meminfo': memInfo,
  'proc/loadavg': '1.73 1.37 0.71 7/156 21847\n',
  'proc/net/dev': netDev('345415450 9079 0 0 0 0 0 0 687629 5433 0 0 0 0 0 0'),
  'proc/net/route': `${route}eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n`,
  'sys/class/net/eth0/device/uevent': '',
};

const running = (overrides: Partial<ObservedContainer>): ObservedContainer => ({
  id: 'c1',
  podUid: 'u1',
  podName: 'web',
  podNamespace: 'default',
  containerName: 'app',
  attempt: 0,
  specHash: '',
  gracePeriodSeconds: 30,
  state: 'running',
  image: '',
  imageId: '',
  createdAt: new Date(0),
  startedAt: new Date(0),
  finishedAt: undefined,
  exitCode: undefined,
  oomKilled: false,
  error: '',
  ip: undefined,
  pid: 77,
  ...overrides,
});

function reader() {
  let at = 1_000_000;
  const usage = createUsageReader({ nodeName: 'n1', dataDir: root, root, now: () => new Date(at) });
  const pass = (ms: number) => {
    at += ms;
  };
  return { sample: usage.sample, pass };
}

describe('the usage of the machine', () => {
  it('is what its files say, with rates from the second sample on', async () => {
    record(machine);
    const { sample, pass } = reader();
    const first = await sample([]);
    expect(first.usage).toMatchObject({
      timestamp: { seconds: 1000 },
      memory: { string: '534640Ki' },
      disk: { string: expect.any(String) },
      load1: 1.73,
      load5: 1.37,
      load15: 0.71,
      windowSeconds: 0,
    });
    expect(first.usage.cpu).toBeUndefined();
    // 15 s of processor time and 10 MB in 10 s; the bridge's traffic does not count.
    record({
      'proc/stat': stat(45_859),
      'proc/net/dev': netDev('355415450 1 0 0 0 0 0 0 687729 1 0 0 0 0 0 0', '9999999 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0'),
    });
    pass(10_000);
    const second = await sample([]);
    expect(second.usage).toMatchObject({
      cpu: { string: '1500m' },
      networkReceiveBytesPerSecond: 1_000_000,
      networkTransmitBytesPerSecond: 10,
      windowSeconds: 10,
    });
    expect(second.metrics).toMatchObject({
      metadata: { name: 'n1' },
      window: { seconds: 10 },
      usage: { cpu: { string: '1500m' }, memory: { string: '534640Ki' } },
      pods: [],
    });
  });

  it('leaves out what cannot be read, and a rate whose counter began anew', async () => {
    record({ 'proc/stat': stat(500) });
    const { sample, pass } = reader();
    await sample([]);
    record({ 'proc/stat': stat(0) });
    pass(1000);
    const { usage } = await sample([]);
    expect(usage).not.toHaveProperty('cpu');
    expect(usage).not.toHaveProperty('memory');
    expect(usage).not.toHaveProperty('load1');
  });
});

describe('the usage of containers', () => {
  const figures = {
    v1: (folder: { memory: string; cpu: string }, cpuNanos: number) => ({
      [`${folder.memory}/memory.usage_in_bytes`]: '52428800\n',
      [`${folder.memory}/memory.stat`]: 'cache 1\ninactive_file 1\ntotal_inactive_file 10485760\n',
      [`${folder.cpu}/cpuacct.usage`]: `${cpuNanos}\n`,
    }),
    v2: (folder: string, cpuMicros: number) => ({
      [`${folder}/memory.current`]: '52428800\n',
      [`${folder}/memory.stat`]: 'anon 5\ninactive_file 10485760\n',
      [`${folder}/cpu.stat`]: `usage_usec ${cpuMicros}\nuser_usec 1\n`,
    }),
  };
  const layouts = [
    {
      title: 'version 1, cgroupfs driver, one folder a controller',
      cgroup: '9:name=systemd:/docker/abc\n4:memory:/docker/abc\n2:cpuacct:/docker/abc\n1:cpu:/docker/abc\n0::/\n',
      files: (seconds: number) =>
        figures.v1({ memory: 'sys/fs/cgroup/memory/docker/abc', cpu: 'sys/fs/cgroup/cpuacct/docker/abc' }, seconds * 1e9),
    },
    {
      title: 'version 1, systemd driver, controllers together',
      cgroup:
        '5:memory:/system.slice/docker-abc.scope\n3:cpu,cpuacct:/system.slice/docker-abc.scope\n0::/system.slice/docker.service\n',
      files: (seconds: number) =>
        figures.v1(
          {
            memory: 'sys/fs/cgroup/memory/system.slice/docker-abc.scope',
            cpu: 'sys/fs/cgroup/cpu,cpuacct/system.slice/docker-abc.scope',
          },
          seconds * 1e9,
        ),
    },
    {
      title: 'version 2, systemd driver',
      cgroup: '0::/system.slice/docker-abc.scope\n',
      files: (seconds: number) => figures.v2('sys/fs/cgroup/system.slice/docker-abc.scope', seconds * 1e6),
    },
    {
      title: 'version 2, cgroupfs driver',
      cgroup: '0::/docker/abc\n',
      files: (seconds: number) => figures.v2('sys/fs/cgroup/docker/abc', seconds * 1e6),
    },
  ];

  it.each(layouts)('is found under cgroup $title', async ({ cgroup, files }) => {
    record({ ...machine, 'proc/77/cgroup': cgroup, ...files(3) });
    const { sample, pass } = reader();
    expect((await sample([running({})])).metrics.pods?.[0]?.containers).toEqual([
      { name: 'app', usage: { memory: { string: '40Mi' } } },
    ]);
    record(files(5.5));
    pass(5000);
    expect((await sample([running({})])).metrics.pods).toEqual([
      {
        namespace: 'default',
        name: 'web',
        uid: 'u1',
        containers: [{ name: 'app', usage: { cpu: { string: '500m' }, memory: { string: '40Mi' } } }],
      },
    ]);
  });

  it('skips containers that have ended or whose files are gone, and starts anew with another process', async () => {
    const layout = layouts[3]!;
    record({ ...machine, 'proc/77/cgroup': layout.cgroup, 'proc/78/cgroup': layout.cgroup, ...layout.files(3) });
    const { sample, pass } = reader();
    await sample([running({})]);
    pass(1000);
    const second = await sample([
      running({ pid: 78 }),
      running({ id: 'c2', containerName: 'b', pid: 99 }),
      running({ id: 'c3', podUid: 'u2', state: 'exited' }),
    ]);
    expect(second.metrics.pods).toHaveLength(1);
    expect(second.metrics.pods?.[0]?.containers).toEqual([{ name: 'app', usage: { memory: { string: '40Mi' } } }]);
  });

  it('counts the network of a pod by its sandbox, and not that of the machine', async () => {
    record({ ...machine, 'proc/50/net/dev': netDev('1000 1 0 0 0 0 0 0 200 1 0 0 0 0 0 0', '0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0') });
    const sandbox = running({ containerName: 'POD', pid: 50 });
    const { sample } = reader();
    const own = await sample([{ ...sandbox, ip: '172.17.0.2' }]);
    expect(own.metrics.pods).toEqual([
      { namespace: 'default', name: 'web', uid: 'u1', containers: [], networkReceiveBytes: 1000, networkTransmitBytes: 200 },
    ]);
    expect((await sample([sandbox])).metrics.pods?.[0]).not.toHaveProperty('networkReceiveBytes');
  });

  it('reads this machine for real', async () => {
    const real = createUsageReader({ nodeName: 'n1', dataDir: root });
    const { usage } = await real.sample([running({ pid: process.pid })]);
    expect(Number.parseInt(usage.memory?.string ?? '', 10)).toBeGreaterThan(0);
    expect(usage.load1).toBeGreaterThanOrEqual(0);
  });
});

describe('parsers', () => {
  it('count neither idle time nor guest time twice, and take nonsense for nothing', () => {
    expect(parseCpuBusySeconds('cpu  100 50 50 9999 9999 10 20 70 1000 1000\n')).toBe(3);
    expect(parseCpuBusySeconds('')).toBeUndefined();
    expect(parseMemInfo('MemTotal: 1 kB\n')).toBeUndefined();
    expect(parseNetDev('')).toEqual([]);
  });

  it('take the default route with the lowest metric', () => {
    const line = (name: string, metric: number, destination = '00000000') =>
      `${name}\t${destination}\t010200C0\t0003\t0\t0\t${metric}\t00000000\t0\t0\t0\n`;
    expect(parseDefaultInterface(route + line('wlan0', 600) + line('eth0', 100) + line('docker0', 0, '000011AC'))).toBe('eth0');
    expect(parseDefaultInterface(route)).toBeUndefined();
  });
});

describe('the inventory', () => {
  const address = (text: string, internal = false, family: 'IPv4' | 'IPv6' = 'IPv4') =>
    ({
      address: text,
      family,
      internal,
      netmask: '',
      mac: '',
      cidr: null,
      ...(family === 'IPv6' ? { scopeid: 0 } : {}),
    }) as never;
  const interfaces = {
    lo: [address('127.0.0.1', true)],
    docker0: [address('172.17.0.1')],
    eth0: [address('fd00::2', false, 'IPv6'), address('10.0.0.2')],
  };

  it.each([
    ['the address of the default route', 'eth0', undefined, '10.0.0.2'],
    ['the address that was given', 'eth0', '192.0.2.9', '192.0.2.9'],
    ['another outward address without a default route', undefined, undefined, '172.17.0.1'],
  ])('takes %s', (_, defaultInterface, given, expected) => {
    expect(computeAddresses({ hostname: 'h', interfaces, defaultInterface, address: given })).toEqual([
      { type: 'InternalIP', address: expected },
      { type: 'Hostname', address: 'h' },
    ]);
  });

  it('takes no address of a load balancer, which is not the node’s for long', () => {
    const both = { ...interfaces, eth0: [address('192.0.2.10'), address('10.0.0.2')] };
    const facts = { hostname: 'h', interfaces: both, defaultInterface: 'eth0', address: undefined };
    expect(computeAddresses(facts)[0]?.address).toBe('192.0.2.10');
    expect(computeAddresses({ ...facts, except: ['192.0.2.10'] })[0]?.address).toBe('10.0.0.2');
  });

  it('keeps a part of the memory and the disk for the system', () => {
    const { capacity, allocatable } = computeCapacity({ cores: 2, memoryBytes: 1024 ** 3, diskBytes: 100 * 1024 ** 3 });
    expect(capacity).toEqual({
      cpu: { string: '2' },
      memory: { string: '1Gi' },
      'ephemeral-storage': { string: '100Gi' },
      pods: { string: '110' },
    });
    expect(allocatable).toMatchObject({
      cpu: { string: '2' },
      memory: { string: '924Mi' },
      'ephemeral-storage': { string: '90Gi' },
    });
  });

  it('is read from this machine', async () => {
    const inventory = await readInventory({ dataDir: root });
    expect(inventory.nodeInfo).toMatchObject({ operatingSystem: 'linux', architecture: goArchitecture(process.arch) });
    expect(inventory.nodeInfo.kernelVersion).toMatch(/^\d+\.\d+/);
    expect(inventory.nodeInfo.bootID).toMatch(/^[0-9a-f-]{36}$/);
    expect(Number(inventory.capacity.cpu?.string)).toBeGreaterThan(0);
  });

  it.each<[string, Record<string, string>, object]>([
    [
      'the firmware’s UUID',
      { 'etc/machine-id': 'b08dfa60\n', 'sys/class/dmi/id/product_uuid': '4C4C4544-0051\n', 'proc/cpuinfo': 'Serial : 10\n' },
      { machineID: 'b08dfa60', systemUUID: '4c4c4544-0051' },
    ],
    [
      'the serial number of a board without such firmware',
      { 'etc/machine-id': 'b08dfa60\n', 'proc/cpuinfo': 'processor\t: 0\n\nSerial\t\t: 10000000f00d\n' },
      { machineID: 'b08dfa60', systemUUID: '10000000f00d' },
    ],
    [
      'the machine’s id elsewhere',
      { 'var/lib/dbus/machine-id': 'b08dfa60\n', 'proc/cpuinfo': 'processor\t: 0\n' },
      { machineID: 'b08dfa60', systemUUID: 'b08dfa60' },
    ],
    [
      'the machine’s id elsewhere, where the usual file is empty',
      { 'etc/machine-id': '\n', 'var/lib/dbus/machine-id': 'b08dfa60\n' },
      { machineID: 'b08dfa60', systemUUID: 'b08dfa60' },
    ],
    ['nothing of a machine without any', {}, { machineID: '', systemUUID: '', osImage: 'Linux' }],
  ])('takes %s for the system’s identity', async (_, files, expected) => {
    record(files);
    expect((await readInventory({ dataDir: root, root })).nodeInfo).toMatchObject(expected);
  });
});
