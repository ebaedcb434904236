import { figure } from './figures.ts';
import { numberAt, numberOf } from './lines.ts';
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

const micros = 1e-6;

const memoryStat = fieldTargets({
  inactive_file: figure.memoryInactiveFile,
  active_file: figure.memoryActiveFile,
  file: figure.memoryCache,
  anon: figure.memoryRss,
  file_mapped: figure.memoryMapped,
  kernel: figure.memoryKernel,
  pgfault: figure.pageFaults,
  pgmajfault: figure.majorPageFaults,
});
const memoryEvents = fieldTargets({ max: figure.memoryFailures, oom_kill: figure.oomKills });
const cpuStat = new Map([
  ...fieldTargets({ nr_periods: figure.cpuPeriods, nr_throttled: figure.cpuThrottledPeriods }),
  ...fieldTargets(
    {
      usage_usec: figure.cpuSeconds,
      user_usec: figure.cpuUserSeconds,
      system_usec: figure.cpuSystemSeconds,
      throttled_usec: figure.cpuThrottledSeconds,
    },
    micros,
  ),
]);

/** "max 100000" or "50000 100000": quota and period. */
const cpuMax: Source = {
  controller: 'cpu',
  files: ['cpu.max'],
  often: false,
  parse(text, { values }) {
    values[figure.cpuQuota] = numberAt(text, 0);
    values[figure.cpuPeriod] = numberAt(text, text.indexOf(' ') + 1);
  },
};

/** Converts a weight of 1 to 10,000 to shares of 2 to 262,144, as the engine's runtime does. */
const cpuWeight: Source = {
  controller: 'cpu',
  files: ['cpu.weight'],
  often: false,
  parse(text, { values }) {
    values[figure.cpuShares] = Math.floor(2 + ((numberAt(text, 0) - 1) * 262_142) / 9_999);
  },
};

/**
 * Lines "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6". Some kernels name devices that have nothing to tell, on
 * a line of their own or before the next one's on the same.
 */
const ioStat: Source = {
  controller: 'blkio',
  files: ['io.stat'],
  often: true,
  parse(text, into) {
    const { values } = into;
    for (const at of ioFigures) values[at] = 0;
    for (const line of text.split('\n')) {
      const device = /(\d+:\d+) +\w+=/.exec(line)?.[1];
      if (device === undefined) continue;
      const figures = deviceOf(into, device);
      values[figure.readBytes]! += figures.readBytes = numberOf(line, 'rbytes') || 0;
      values[figure.writeBytes]! += figures.writeBytes = numberOf(line, 'wbytes') || 0;
      values[figure.reads]! += figures.reads = numberOf(line, 'rios') || 0;
      values[figure.writes]! += figures.writes = numberOf(line, 'wios') || 0;
    }
  },
};
const ioFigures = [figure.readBytes, figure.writeBytes, figure.reads, figure.writes] as const;

/**
 * Everything that is read of a container under cgroup version 2. A controller that is not delegated has no files:
 * its figures stay unknown.
 */
export const version2: readonly Source[] = [
  often(fieldsFile('cpuacct', 'cpu.stat', cpuStat)),
  cpuMax,
  cpuWeight,
  often(numberFile('memory', 'memory.current', figure.memoryUsage)),
  often(fieldsFile('memory', 'memory.stat', memoryStat)),
  numberFile('memory', 'memory.peak', figure.memoryPeak),
  often(numberFile('memory', 'memory.swap.current', figure.memorySwap)),
  fieldsFile('memory', 'memory.events', memoryEvents),
  limitFile('memory', 'memory.max', figure.memoryLimit),
  limitFile('memory', 'memory.swap.max', figure.memorySwapLimit),
  limitFile('memory', 'memory.low', figure.memoryReservation),
  numberFile('pids', 'pids.current', figure.threads),
  limitFile('pids', 'pids.max', figure.threadsLimit),
  processCount,
  ioStat,
  ...pressureSources,
];
