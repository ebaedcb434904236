import { figure } from './figures.ts';
import { numberAt } from './lines.ts';
import {
  deviceOf,
  fieldsFile,
  fieldTargets,
  limitFile,
  numberFile,
  often,
  pressureSources,
  processCount,
  type Source,
} from './sources.ts';

const nanos = 1e-9;
/** The kernel's USER_HZ; 100 on every machine that Linux runs on today. */
const ticks = 0.01;

const memoryStat = fieldTargets({
  total_inactive_file: figure.memoryInactiveFile,
  total_active_file: figure.memoryActiveFile,
  total_cache: figure.memoryCache,
  total_rss: figure.memoryRss,
  total_swap: figure.memorySwap,
  total_mapped_file: figure.memoryMapped,
  total_pgfault: figure.pageFaults,
  total_pgmajfault: figure.majorPageFaults,
});
const cpuacctStat = fieldTargets({ user: figure.cpuUserSeconds, system: figure.cpuSystemSeconds }, ticks);
const cpuStat = new Map([
  ...fieldTargets({ nr_periods: figure.cpuPeriods, nr_throttled: figure.cpuThrottledPeriods }),
  ...fieldTargets({ throttled_time: figure.cpuThrottledSeconds }, nanos),
]);
const oomControl = fieldTargets({ oom_kill: figure.oomKills });

/**
 * Lines "8:0 Read 4096"; what is neither read nor written (Sync, Async, Total) is in these two already,
 * or moves nothing (Discard).
 */
function blockFile(files: readonly string[], read: 'readBytes' | 'reads', write: 'writeBytes' | 'writes'): Source {
  return {
    controller: 'blkio',
    files,
    often: read === 'readBytes',
    parse(text, into) {
      let readSum = 0;
      let writeSum = 0;
      for (const line of text.split('\n')) {
        const [device = '', operation, amount] = line.split(' ');
        if (amount === undefined) continue;
        const value = numberAt(amount, 0);
        if (operation === 'Read') {
          deviceOf(into, device)[read] = value;
          readSum += value;
        } else if (operation === 'Write') {
          deviceOf(into, device)[write] = value;
          writeSum += value;
        }
      }
      into.values[figure[read]] = readSum;
      into.values[figure[write]] = writeSum;
    },
  };
}

/**
 * Which of them there are depends on the kernel: cfq went with 5.0,
 * and without it the throttler's are the only ones that count.
 */
const blockFiles = (name: string): string[] => [
  `blkio.throttle.${name}_recursive`,
  `blkio.${name}_recursive`,
  `blkio.throttle.${name}`,
];

/**
 * Everything that is read of a container under cgroup version 1. Pressure is in the unified hierarchy,
 * where there is one beside it.
 */
export const version1: readonly Source[] = [
  often(numberFile('cpuacct', 'cpuacct.usage', figure.cpuSeconds, nanos)),
  fieldsFile('cpuacct', 'cpuacct.stat', cpuacctStat),
  often(fieldsFile('cpu', 'cpu.stat', cpuStat)),
  numberFile('cpu', 'cpu.shares', figure.cpuShares),
  // "-1", which is no number, where there is no limit.
  numberFile('cpu', 'cpu.cfs_quota_us', figure.cpuQuota),
  numberFile('cpu', 'cpu.cfs_period_us', figure.cpuPeriod),
  often(numberFile('memory', 'memory.usage_in_bytes', figure.memoryUsage)),
  often(fieldsFile('memory', 'memory.stat', memoryStat)),
  numberFile('memory', 'memory.max_usage_in_bytes', figure.memoryPeak),
  numberFile('memory', 'memory.kmem.usage_in_bytes', figure.memoryKernel),
  numberFile('memory', 'memory.failcnt', figure.memoryFailures),
  fieldsFile('memory', 'memory.oom_control', oomControl),
  limitFile('memory', 'memory.limit_in_bytes', figure.memoryLimit),
  limitFile('memory', 'memory.memsw.limit_in_bytes', figure.memorySwapLimit),
  limitFile('memory', 'memory.soft_limit_in_bytes', figure.memoryReservation),
  numberFile('pids', 'pids.current', figure.threads),
  limitFile('pids', 'pids.max', figure.threadsLimit),
  processCount,
  blockFile(blockFiles('io_service_bytes'), 'readBytes', 'writeBytes'),
  blockFile(blockFiles('io_serviced'), 'reads', 'writes'),
  ...pressureSources,
];
