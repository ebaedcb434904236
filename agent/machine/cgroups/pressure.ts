import { numberOf } from './lines.ts';

const microsPerSecond = 1e6;

export interface Pressure {
  /** Some processes waited. */
  readonly waitingSeconds: number;
  /** While no task could run. NaN for the processor on kernels before 5.13, which do not tell. */
  readonly stalledSeconds: number;
}

/**
 * A pressure file, of a cgroup or of /proc/pressure: lines "some avg10=... avg60=... avg300=...
 * total=..." and "full ...", in microseconds.
 */
export function parsePressure(text: string): Pressure {
  let waitingSeconds = Number.NaN;
  let stalledSeconds = Number.NaN;
  for (const line of text.split('\n')) {
    if (line.startsWith('some ')) waitingSeconds = numberOf(line, 'total') / microsPerSecond;
    else if (line.startsWith('full ')) stalledSeconds = numberOf(line, 'total') / microsPerSecond;
  }
  return { waitingSeconds, stalledSeconds };
}
