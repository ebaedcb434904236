import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from './installation.ts';
import { metricsPage } from './metrics-page.ts';
import { createPodHouse, type PodHouse, podOf, script } from './pods-fixture.ts';

/** Busy within a limit, 20 MB in memory, 8 MB in its layer, and one child that the kernel kills for memory. */
const work = `
  dd if=/dev/zero of=/layer bs=1M count=8 conv=fsync 2>/dev/null
  dd if=/dev/zero of=/dev/shm/held bs=1M count=20 2>/dev/null
  (tail /dev/zero) 2>/dev/null
  echo a line of the log
  touch /ready
  while :; do :; done`;

let house: PodHouse;
let uid: string;

beforeAll(async () => {
  house = await createPodHouse('figures');
  await house.apply(
    podOf('busy', [
      script(work, { resources: { limits: { cpu: '100m', memory: '64Mi' } } }),
      { ...script('while :; do sleep 0.2; done'), name: 'side' },
    ]),
  );
  uid = (await house.running('busy')).metadata.uid;
  await eventually(
    'the work is done',
    () => house.sh('busy', 'test -e /ready && echo yes', 'main').catch(() => undefined),
    60_000,
  );
});
afterAll(async () => house?.berth.purge());

const page = (path: string) => metricsPage(house.berth.dataDir, 'agent', path);

/** The values of a metric whose labels hold this text. */
function valuesOf(text: string, name: string, labels: string): number[] {
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) && line.includes(labels));
  return lines.map((line) => Number(line.slice(line.lastIndexOf(' ') + 1)));
}

describe('what a container uses', () => {
  it("is on the agent's pages, in cAdvisor's names", async () => {
    const text = await page('/metrics/cadvisor');
    const value = (name: string, container = 'main') =>
      valuesOf(text, name, `container="${container}"`).filter((_, i, all) => all.length === 1 || i === 0)[0];
    expect(value('container_cpu_usage_seconds_total')).toBeGreaterThan(0);
    expect(value('container_cpu_cfs_throttled_periods_total')).toBeGreaterThan(0);
    expect(value('container_spec_cpu_quota')).toBe(10_000);
    expect(value('container_memory_working_set_bytes')).toBeGreaterThan(20e6);
    expect(value('container_memory_working_set_bytes')).toBeLessThan(64 * 1024 * 1024);
    expect(value('container_spec_memory_limit_bytes')).toBe(64 * 1024 * 1024);
    expect(value('container_memory_failcnt')).toBeGreaterThanOrEqual(0);
    // A command that looks for /ready at that moment may be killed as well.
    expect(value('container_oom_events_total')).toBeGreaterThanOrEqual(1);
    expect(value('container_oom_events_total', 'side')).toBe(0);
    expect(value('container_processes')).toBe(1);
    expect(value('container_fs_usage_bytes')).toBeGreaterThan(8e6);
    // Reads and writes of a container are not asserted: kernels of today count them under version 1 only for disks that
    // are throttled.
    expect(
      valuesOf(
        text,
        'kubelet_container_log_filesystem_used_bytes',
        `uid="${uid}",namespace="default",pod="busy",container="main"`,
      )[0],
    ).toBeGreaterThan(0);
    // The machine's disks, and what waits for processors, memory and disks where the kernel counts that.
    expect(Math.max(...valuesOf(text, 'container_fs_writes_bytes_total', 'id="/"'))).toBeGreaterThan(8e6);
    for (const what of existsSync('/proc/pressure') ? ['cpu', 'memory', 'io'] : [])
      expect(valuesOf(text, `container_pressure_${what}_waiting_seconds_total`, 'id="/"'), what).toEqual([expect.any(Number)]);
    // The pod's network is the sandbox's, which has no container name.
    const received = valuesOf(text, 'container_network_receive_bytes_total', 'pod="busy"');
    expect(received).toHaveLength(1);
    expect(text).toMatch(/^machine_cpu_cores \d+$/m);
    expect(valuesOf(await page('/metrics/resource'), 'pod_memory_working_set_bytes', 'pod="busy"')[0]).toBeGreaterThan(20e6);
  });

  it('is kept for an hour, as plots and for programs, of the pod, its containers and the node', async () => {
    interface History {
      readonly times: readonly string[];
      readonly series: readonly { container?: string; figure: string; unit: string; values: readonly (number | null)[] }[];
    }
    const history = async (kind: string, name: string): Promise<History> =>
      JSON.parse(await house.berth.ok('top', kind, name, '--history', '-o', 'json'));
    const has = (found: History, name: string) =>
      (found.series.find(({ container, figure }) => container === name && figure === 'cpuThrottled')?.values.at(-1) ?? null) !==
      null;
    // Two samples with the work in between them; they come every 15 s, of each container at its own time.
    const measured = await eventually(
      'a second sample',
      async () => {
        const found = await history('pod', 'busy').catch(() => undefined);
        return found && has(found, 'main') && has(found, 'side') ? found : undefined;
      },
      90_000,
    );
    const last = (container: string, figure: string) =>
      measured.series.find((each) => each.container === container && each.figure === figure)?.values.at(-1);
    expect(last('main', 'cpu')).toBeGreaterThan(0);
    expect(last('main', 'cpu')).toBeLessThan(0.3);
    expect(last('main', 'memory')).toBeGreaterThan(20e6);
    // More than half of the time, on a machine that is not so busy that the container is held back by others instead.
    expect(last('main', 'cpuThrottled')).toBeGreaterThan(0);
    expect(last('side', 'cpuThrottled')).toBe(0);
    expect((await history('node', house.berth.nodeName)).series.map(({ figure }) => figure)).toEqual(
      expect.arrayContaining(['cpu', 'memory', 'networkReceive']),
    );
    const plots = await house.berth.ok('top', 'pod', 'busy', '--history', '--containers');
    expect(plots).toMatch(/^main: CPU\(cores\) {3}now \d+m, mean \d+m, most \d+m\n +\d+m ┤/m);
    expect(plots).toMatch(/^main: CPU HELD BACK BY ITS LIMIT\(%\)/m);
  });
});
