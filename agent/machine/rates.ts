import { figure, workingSetOf } from './cgroups/figures.ts';
import type { MachineFigures } from './machine-usage.ts';
import type { Traffic } from './network.ts';

/** Per second; NaN when no time has passed, when one of the two is not known, and when a counter began anew. */
export function rate(now: number, past: number, elapsedMs: number): number {
  const amount = now - past;
  return elapsedMs > 0 && amount >= 0 ? (amount * 1000) / elapsedMs : Number.NaN;
}

/**
 * What a container's history keeps of one sample, in the order of `containerSeries`. `past` is the sample before,
 * if it is of the same run.
 */
export function containerValues(now: Float64Array, past: Float64Array | undefined, elapsedMs: number): number[] {
  const perSecond = (at: number): number => (past === undefined ? Number.NaN : rate(now[at]!, past[at]!, elapsedMs));
  return [
    perSecond(figure.cpuSeconds),
    workingSetOf({ values: now }),
    perSecond(figure.readBytes),
    perSecond(figure.writeBytes),
    past === undefined ? Number.NaN : throttled(now, past),
    perSecond(figure.cpuWaitingSeconds),
    perSecond(figure.memoryWaitingSeconds),
    perSecond(figure.ioWaitingSeconds),
  ];
}

/** Of the periods in which it ran, the part in which it was held back. */
function throttled(now: Float64Array, past: Float64Array): number {
  const periods = now[figure.cpuPeriods]! - past[figure.cpuPeriods]!;
  const held = now[figure.cpuThrottledPeriods]! - past[figure.cpuThrottledPeriods]!;
  // Without a limit nothing is counted.
  return periods === 0 ? 0 : held / periods;
}

/** In the order of `podSeries`. */
export function podValues(now: Traffic, past: Traffic | undefined, elapsedMs: number): number[] {
  if (past === undefined) return [Number.NaN, Number.NaN];
  return [rate(now.received, past.received, elapsedMs), rate(now.sent, past.sent, elapsedMs)];
}

/** What all disks together moved since boot. */
export interface DiskTraffic {
  readonly readBytes: number;
  readonly writeBytes: number;
}

export interface MachineSample {
  readonly machine: MachineFigures;
  readonly disks: DiskTraffic;
}

/** In the order of `nodeSeries`. */
export function nodeValues(now: MachineSample, past: MachineSample | undefined, elapsedMs: number): number[] {
  const perSecond = (pick: (sample: MachineSample) => number | undefined): number =>
    past === undefined ? Number.NaN : rate(pick(now) ?? Number.NaN, pick(past) ?? Number.NaN, elapsedMs);
  const { memory } = now.machine;
  return [
    perSecond(({ machine }) => machine.cpuBusySeconds),
    memory === undefined ? Number.NaN : memory.total - memory.available,
    perSecond(({ machine }) => machine.network.received),
    perSecond(({ machine }) => machine.network.sent),
    perSecond(({ disks }) => disks.readBytes),
    perSecond(({ disks }) => disks.writeBytes),
    perSecond(({ machine }) => machine.pressure.cpu.waitingSeconds),
    perSecond(({ machine }) => machine.pressure.memory.waitingSeconds),
    perSecond(({ machine }) => machine.pressure.io.waitingSeconds),
  ];
}
