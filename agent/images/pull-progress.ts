import { formatDuration } from '../pod/back-off.ts';
import type { PullProgress } from '../runtime/runtime.ts';

/**
 * The first word on a pull that takes long comes after this time, each further one after twice the time;
 * the last after half a day.
 */
const firstReportMs = 30_000;
const mostReports = 11;
/** One that stands still while others wait for its places is given up this soon. */
const hurriedMs = 15_000;
/** The engine's own work is no stall of the registry's: disks are slow, and other programs pull too. */
const engineFactor = 10;

/** How long after its start a pull is reported for the nth time, counted from 0. */
export function nextReportMs(reports: number): number {
  return reports >= mostReports ? Number.POSITIVE_INFINITY : firstReportMs * 2 ** reports;
}

/** How long a pull may stand still before it is ended. */
export function computePatienceMs(patienceMs: number, phase: PullProgress['phase'], othersWait: boolean): number {
  if (phase === 'queued' || phase === 'unpacking') return patienceMs * engineFactor;
  return othersWait ? Math.min(patienceMs, hurriedMs) : patienceMs;
}

export function hasMoved(before: PullProgress, now: PullProgress): boolean {
  return (
    before.bytesDone !== now.bytesDone ||
    before.layersDone !== now.layersDone ||
    before.layers !== now.layers ||
    before.phase !== now.phase
  );
}

/** "2 of 5 layers, 13.1 MiB of 80.0 MiB, no progress for 12s". */
export function describeProgress({ phase, layersDone, layers, bytesDone, bytes }: PullProgress, quietMs: number): string {
  const quiet = quietMs >= 5_000 ? `, no progress for ${formatDuration(quietMs)}` : '';
  if (layers === 0) return `waiting for the registry's answer${quiet}`;
  const size = bytes === 0 ? '' : `, ${formatSize(bytesDone)} of ${formatSize(bytes)}`;
  const doing = { asking: '', downloading: '', queued: ', waiting for other pulls', unpacking: ', unpacking' }[phase];
  return `${layersDone} of ${layers} layers${size}${doing}${quiet}`;
}

export function formatSize(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let [value, unit] = [bytes, 0];
  while (value >= 1024 && unit < units.length - 1) [value, unit] = [value / 1024, unit + 1];
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

/** "393ms", "1.893s", "2m3.5s": as Kubernetes writes how long a pull took. */
export function formatElapsed(ms: number): string {
  const whole = Math.max(0, Math.trunc(ms));
  if (whole < 1000) return `${whole}ms`;
  const [minutes, rest] = [Math.floor(whole / 60_000), whole % 60_000];
  const seconds = `${rest / 1000}s`;
  if (minutes === 0) return seconds;
  const hours = Math.floor(minutes / 60);
  return hours === 0 ? `${minutes}m${seconds}` : `${hours}h${minutes % 60}m${seconds}`;
}
