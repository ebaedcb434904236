import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { layOutMachine, recordedContainer } from '../../test/fixtures/lay-out.ts';
import type { ObservedContainer } from '../runtime/runtime.ts';
import { createMachineReader } from './machine-reader.ts';

const roots: string[] = [];
afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true, force: true });
});

const container = (overrides: Partial<ObservedContainer>): ObservedContainer => ({
  id: recordedContainer,
  podUid: 'u1',
  podName: 'web',
  podNamespace: 'default',
  containerName: 'app',
  attempt: 0,
  specHash: '',
  gracePeriodSeconds: 30,
  state: 'running',
  image: 'nginx:1',
  imageId: '',
  createdAt: new Date(0),
  startedAt: new Date(5_500),
  finishedAt: undefined,
  exitCode: undefined,
  oomKilled: false,
  error: '',
  ip: undefined,
  pid: 77,
  ...overrides,
});
const sandboxId = '0a0b'.repeat(16);
const sandbox = container({ id: sandboxId, containerName: 'POD', image: 'pause:1', pid: 50, ip: '172.17.0.2' });

const netDev = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:    4222      41    0    0    0     0          0         0     4222      41    0    0    0     0       0          0
  eth0: 1000 10 1 2 0 0 0 0 200 5 3 4 0 0 0 0
`;

/** A recorded machine with a pod of one container, which has changed 3 files of its image and written a log. */
function layOut(name: string) {
  const root = layOutMachine(name);
  roots.push(root);
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  write('proc/50/net/dev', netDev);
  write('layer/etc/changed', 'x'.repeat(5_000));
  write('logs/c-json.log', 'x'.repeat(100));
  write('logs/c-json.log.1', 'x'.repeat(5_000));
  write('logs/other', 'x'.repeat(50_000));
  const app = container({ files: { writableLayer: join(root, 'layer'), log: join(root, 'logs/c-json.log') } });
  let at = 100_000;
  const reader = createMachineReader({ nodeName: 'n1', dataDir: root, root, now: () => new Date(at) });
  return { root, write, reader, pod: [sandbox, app], pass: (ms: number) => (at += ms) };
}

/** The samples of a page, by name and labels. */
function samplesOf(page: string): Map<string, number> {
  const samples = new Map<string, number>();
  for (const line of page.split('\n')) {
    const space = line.lastIndexOf(' ');
    if (!line.startsWith('#') && space > 0) samples.set(line.slice(0, space), Number(line.slice(space + 1)));
  }
  return samples;
}

const app = (scope: string): string =>
  `container="app",id="${scope}",image="nginx:1",name="${recordedContainer}",namespace="default",pod="web"`;
const whole = 'container="",id="/",image="",name="",namespace="",pod=""';

describe('the page /metrics/cadvisor', () => {
  it("has cAdvisor's names and labels for containers", async () => {
    const { reader, pod } = layOut('v2-systemd');
    const page = await reader.cadvisor(pod);
    const labels = app(`/system.slice/docker-${recordedContainer}.scope`);
    expect(Object.fromEntries(samplesOf(page))).toMatchObject({
      [`container_cpu_usage_seconds_total{${labels},cpu="total"}`]: 29.144593,
      [`container_cpu_cfs_throttled_periods_total{${labels}}`]: 30,
      [`container_memory_working_set_bytes{${labels}}`]: 41_943_040,
      [`container_memory_failures_total{${labels},failure_type="pgmajfault",scope="hierarchy"}`]: 33,
      [`container_oom_events_total{${labels}}`]: 2,
      [`container_fs_writes_bytes_total{${labels},device="/dev/sda"}`]: 1_048_576,
      [`container_fs_reads_total{${labels},device="/dev/dm-0"}`]: 2,
      [`container_blkio_device_usage_total{${labels},device="/dev/sda",major="8",minor="0",operation="Read"}`]: 4096,
      [`container_spec_memory_limit_bytes{${labels}}`]: 104_857_600,
      [`container_pressure_io_stalled_seconds_total{${labels}}`]: 2,
      [`container_start_time_seconds{${labels}}`]: 5.5,
      [`container_last_seen{${labels}}`]: 100,
      'kubelet_container_log_filesystem_used_bytes{uid="u1",namespace="default",pod="web",container="app"}': 12_288,
      machine_cpu_cores: 2,
      machine_memory_bytes: 8_239_267_840,
      machine_swap_bytes: 1_073_737_728,
    });
    // A file and its folder; how large a folder is, is the file system's affair.
    const layer = [...samplesOf(page)].find(([name]) => name.startsWith(`container_fs_usage_bytes{${labels}`))?.[1];
    expect(layer).toBeGreaterThanOrEqual(8_192);
    expect(page).toContain('# TYPE container_cpu_usage_seconds_total counter\n');
  });

  it('gives the network to the sandbox, interface by interface, without the loopback', async () => {
    const { reader, pod } = layOut('v1-cgroupfs-hybrid');
    const samples = samplesOf(await reader.cadvisor(pod));
    const labels = `container="",id="/docker/${sandboxId}",image="pause:1",name="${sandboxId}",namespace="default",pod="web"`;
    const network = [...samples].filter(([name]) => name.startsWith('container_network_'));
    expect(network.map(([name, value]) => [name.replace(`{${labels},interface="eth0"}`, ''), value])).toEqual([
      ['container_network_receive_bytes_total', 1000],
      ['container_network_receive_packets_total', 10],
      ['container_network_receive_errors_total', 1],
      ['container_network_receive_packets_dropped_total', 2],
      ['container_network_transmit_bytes_total', 200],
      ['container_network_transmit_packets_total', 5],
      ['container_network_transmit_errors_total', 3],
      ['container_network_transmit_packets_dropped_total', 4],
    ]);
  });

  it.each([
    ['v1-cgroupfs-hybrid', { usage: 5_000_000_000, set: 4_000_000_000 }],
    // Version 2 counts no memory in its root: what is not available.
    ['v2-systemd', { usage: 2_563_072_000, set: 2_563_072_000 }],
  ])('tells of the machine as the container "/": %s', async (name, { usage, set }) => {
    const { reader } = layOut(name);
    expect(Object.fromEntries(samplesOf(await reader.cadvisor([])))).toMatchObject({
      [`container_cpu_usage_seconds_total{${whole},cpu="total"}`]: 1735,
      [`container_memory_usage_bytes{${whole}}`]: usage,
      [`container_memory_working_set_bytes{${whole}}`]: set,
      [`container_pressure_io_waiting_seconds_total{${whole}}`]: 412.504251,
      // The disk itself, neither its partition nor what lies on it.
      [`container_fs_writes_total{${whole},device="/dev/sda"}`]: 9_812_552,
    });
  });

  it('leaves out what the machine does not tell, the heading too', async () => {
    const { reader, pod } = layOut('v1-without-memory');
    const page = await reader.cadvisor(pod);
    expect(page).toContain(`container_threads{${app(`/docker/${recordedContainer}`)}} 5\n`);
    expect(page).not.toContain('NaN');
    expect(page).not.toContain('container_pressure_');
    expect(page).not.toContain('container_memory_rss');
  });

  it('is made once for all who ask at the same time, and anew for the next', async () => {
    const { reader, pod, write } = layOut('v2-cgroupfs');
    const [one, other] = [reader.cadvisor(pod), reader.cadvisor(pod)];
    expect(await one).toBe(await other);
    write(`sys/fs/cgroup/docker/${recordedContainer}/pids.current`, '9\n');
    expect(await reader.cadvisor(pod)).toContain(`container_threads{${app(`/docker/${recordedContainer}`)}} 9\n`);
  });

  it('escapes what names may hold', async () => {
    const { reader } = layOut('v2-cgroupfs');
    expect(await reader.cadvisor([container({ image: 'a"b\\c\nd' })])).toContain('image="a\\"b\\\\c\\nd"');
  });
});

describe('the page /metrics/resource', () => {
  it('has the short list of the kubelet: containers, their pods, the node', async () => {
    const { reader, pod } = layOut('v2-systemd');
    expect(Object.fromEntries(samplesOf(await reader.resource(pod)))).toEqual({
      'container_cpu_usage_seconds_total{container="app",namespace="default",pod="web"}': 29.144593,
      'container_memory_working_set_bytes{container="app",namespace="default",pod="web"}': 41_943_040,
      'container_start_time_seconds{container="app",namespace="default",pod="web"}': 5.5,
      'container_swap_usage_bytes{container="app",namespace="default",pod="web"}': 8192,
      node_cpu_usage_seconds_total: 1748.69,
      node_memory_working_set_bytes: 2_563_072_000,
      node_swap_usage_bytes: 536_868_864,
      'pod_cpu_usage_seconds_total{namespace="default",pod="web"}': 29.144593,
      'pod_memory_working_set_bytes{namespace="default",pod="web"}': 41_943_040,
      'pod_swap_usage_bytes{namespace="default",pod="web"}': 8192,
      resource_scrape_error: 0,
    });
  });

  it('says that figures are missing when the machine cannot be read', async () => {
    const { reader, root } = layOut('v2-systemd');
    rmSync(join(root, 'proc/meminfo'));
    const samples = samplesOf(await reader.resource([]));
    expect([...samples]).toEqual([
      ['node_cpu_usage_seconds_total', 1748.69],
      ['resource_scrape_error', 1],
    ]);
  });
});

describe('the history of samples', () => {
  it('keeps rates of counters and amounts of the rest, for the node, the pod and the container', async () => {
    const { reader, pod, write, pass } = layOut('v2-systemd');
    await reader.sample(pod);
    const folder = `sys/fs/cgroup/system.slice/docker-${recordedContainer}.scope`;
    pass(10_000);
    write(`${folder}/cpu.stat`, 'usage_usec 34144593\nnr_periods 140\nnr_throttled 35\nthrottled_usec 2600000\n');
    write(`${folder}/io.stat`, '8:0 rbytes=104196 wbytes=1048776 rios=1 wios=16 dbytes=0 dios=0\n');
    write(`${folder}/cpu.pressure`, 'some avg10=0.00 avg60=0.00 avg300=0.00 total=2720378\n');
    write('proc/50/net/dev', netDev.replace('1000 10', '21000 10'));
    await reader.sample(pod);
    const { history } = reader;
    expect(history.moments()).toEqual([100_000, 110_000]);
    const values = (key: string) => Array.from({ length: 8 }, (_, series) => history.values(key, series)?.[1]);
    // A limit of processor time that held it back in 5 of 20 periods; a quarter of the time it waited for one.
    expect(values('u1/app').map((value) => Number(value?.toFixed(3)))).toEqual([0.5, 41_943_040, 10_000, 0, 0.25, 0.25, 0, 0]);
    expect(history.values('u1', 0)).toEqual([Number.NaN, 2000]);
    expect(history.values('', 1)?.[1]).toBe(2_563_072_000);
    expect(history.keys('u1/')).toEqual(['u1/app']);
  });
});
