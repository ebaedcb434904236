import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { type IntervalHistogram, monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import type { MetricsRegistry, MetricTable } from '../../api/metrics/index.ts';

/** What every process measures of itself, under the names that exporters of Node.js programs give it. */
export const processMetrics = {
  build: {
    name: 'berth_build_info',
    type: 'gauge',
    help: 'Always 1; the labels say which Berth this is, on which Node.js.',
    labels: ['component', 'version', 'node_version'],
  },
  cpuUser: { name: 'process_cpu_user_seconds_total', type: 'counter', help: 'Processor time of the program itself, in seconds.' },
  cpuSystem: {
    name: 'process_cpu_system_seconds_total',
    type: 'counter',
    help: 'Processor time of the kernel for the process, in seconds.',
  },
  cpu: { name: 'process_cpu_seconds_total', type: 'counter', help: 'Processor time in all, in seconds.' },
  start: {
    name: 'process_start_time_seconds',
    type: 'gauge',
    help: 'When the process started, in seconds since the epoch.',
  },
  resident: {
    name: 'process_resident_memory_bytes',
    type: 'gauge',
    help: 'Memory that the process holds, shared pages included.',
  },
  virtual: { name: 'process_virtual_memory_bytes', type: 'gauge', help: 'Address space of the process.' },
  openFiles: { name: 'process_open_fds', type: 'gauge', help: 'Open file descriptors, connections included.' },
  maxFiles: { name: 'process_max_fds', type: 'gauge', help: 'How many file descriptors the process may open.' },
  heapTotal: { name: 'nodejs_heap_size_total_bytes', type: 'gauge', help: 'The heap of V8, used or not.' },
  heapUsed: { name: 'nodejs_heap_size_used_bytes', type: 'gauge', help: 'What of the heap is in use, garbage included.' },
  external: {
    name: 'nodejs_external_memory_bytes',
    type: 'gauge',
    help: 'Memory outside the heap that objects hold, buffers for one.',
  },
  utilization: {
    name: 'nodejs_eventloop_utilization',
    type: 'gauge',
    help: 'Share of the time since the last look in which the event loop was busy, from 0 to 1.',
  },
  lag: {
    name: 'nodejs_eventloop_lag_max_seconds',
    type: 'gauge',
    help: 'How late timers fired at the most since the last look. Measured from the first look on, while it is scraped at least every five minutes.',
  },
  lagP99: {
    name: 'nodejs_eventloop_lag_p99_seconds',
    type: 'gauge',
    help: 'The same of 99 in 100 timers.',
  },
  gc: {
    name: 'nodejs_gc_duration_seconds',
    type: 'histogram',
    help: 'How long garbage collections took, by kind.',
    labels: ['kind'],
    buckets: [0.001, 0.01, 0.1, 1, 2, 5],
  },
} as const satisfies MetricTable;

export interface ProcessFacts {
  /** The program: "server", "agent", "scheduler", "controllers". */
  readonly component: string;
  readonly version: string;
}

/** Begins to measure this process; the returned function ends it. */
export function measureProcess(metrics: MetricsRegistry, { component, version }: ProcessFacts): () => void {
  const table = processMetrics;
  metrics.gauge(table.build).with(component, version, process.versions.node).set(1);
  const cpu = (pick: (usage: NodeJS.CpuUsage) => number) => () => pick(process.cpuUsage()) / 1e6;
  metrics.read(
    table.cpuUser,
    cpu(({ user }) => user),
  );
  metrics.read(
    table.cpuSystem,
    cpu(({ system }) => system),
  );
  metrics.read(
    table.cpu,
    cpu(({ user, system }) => user + system),
  );
  const startedAt = Math.round((Date.now() - process.uptime() * 1000) / 1000);
  metrics.read(table.start, () => startedAt);
  metrics.read(table.resident, () => process.memoryUsage.rss());
  metrics.read(table.virtual, virtualBytes);
  metrics.read(table.openFiles, () => readdirSync('/proc/self/fd').length);
  metrics.read(table.maxFiles, maxFiles);
  metrics.read(table.heapTotal, () => getHeapStatistics().total_heap_size);
  metrics.read(table.heapUsed, () => getHeapStatistics().used_heap_size);
  metrics.read(table.external, () => process.memoryUsage().external);
  const endings = [measureLoop(metrics), measureCollections(metrics)];
  return () => {
    for (const end of endings) end();
  };
}

/** The kernel's second figure of /proc/self/statm is what is resident; the first all of it, in pages of 4 KiB. */
function virtualBytes(): number {
  return Number(readStart('/proc/self/statm').split(' ')[0]) * 4_096;
}

function maxFiles(): number {
  const [, soft = '0'] = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
  return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
}

function readStart(file: string): string {
  const descriptor = openSync(file, 'r');
  try {
    const buffer = Buffer.alloc(128);
    return buffer.toString('latin1', 0, readSync(descriptor, buffer));
  } finally {
    closeSync(descriptor);
  }
}

/** The delay is measured by a timer that wakes the process; it runs only while the metric is read. */
const lagResolutionMs = 20;
const forgetMs = 5 * 60_000;

function measureLoop(metrics: MetricsRegistry): () => void {
  let before = performance.eventLoopUtilization();
  metrics.read(processMetrics.utilization, () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    return Number.isFinite(utilization) ? utilization : 0;
  });
  let delay: IntervalHistogram | undefined;
  let forget: NodeJS.Timeout | undefined;
  const end = (): void => {
    delay?.disable();
    delay = undefined;
    clearTimeout(forget);
  };
  const seconds = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e9 - lagResolutionMs / 1000);
  let p99 = 0;
  metrics.read(processMetrics.lag, () => {
    clearTimeout(forget);
    forget = setTimeout(end, forgetMs).unref();
    if (delay === undefined) {
      delay = monitorEventLoopDelay({ resolution: lagResolutionMs });
      delay.enable();
    }
    const hasTicked = delay.count > 0;
    const most = hasTicked ? seconds(delay.max) : 0;
    p99 = hasTicked ? seconds(delay.percentile(99)) : 0;
    delay.reset();
    return most;
  });
  // Asked after the other, so that both tell of the same time.
  metrics.read(processMetrics.lagP99, () => p99);
  return end;
}

const collectionKinds: Readonly<Record<number, string>> = { 1: 'minor', 4: 'major', 8: 'incremental', 16: 'weakcb' };

function measureCollections(metrics: MetricsRegistry): () => void {
  const family = metrics.histogram(processMetrics.gc);
  for (const kind of Object.values(collectionKinds)) family.with(kind);
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { kind } = (entry as unknown as { detail?: { kind?: number } }).detail ?? {};
      family.with(collectionKinds[kind ?? 0] ?? 'other').observe(entry.duration / 1000);
    }
  });
  observer.observe({ entryTypes: ['gc'] });
  return () => observer.disconnect();
}
