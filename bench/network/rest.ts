import { setTimeout as delay } from 'node:timers/promises';

/** Processor time that was taken in a span, both in seconds. */
export interface Spent {
  readonly cpu: number;
  readonly seconds: number;
}

/** What an agent does at rest repeats within this time, but for little. */
const windowMs = 10_000;
const mostWindows = 18;
/** At rest, two windows in succession differ by no more than this share of the larger one, */
const spread = 0.25;
/** and some ticks, in which the kernel counts. In seconds of the processor. */
const slack = 0.05;

export interface RestOptions {
  /** Processor time so far of all that has to be at rest, in seconds. */
  readonly cpu: () => number;
  readonly say: (text: string) => void;
  readonly wait?: (ms: number) => Promise<unknown>;
  readonly now?: () => number;
}

/**
 * Waits until processes are at rest: two windows in succession take the same. Returns what both took. Says so after
 * three minutes without such windows, and returns the last two.
 */
export async function untilRest({ cpu, say, wait = delay, now }: RestOptions): Promise<Spent> {
  const window = (): Promise<Spent> => spent(cpu, () => wait(windowMs), now);
  let before = await window();
  for (let count = 2; ; count++) {
    const last = await window();
    const [less = 0, more = 0] = [before.cpu, last.cpu].toSorted((a, b) => a - b);
    const isAtRest = more - less <= spread * more + slack;
    if (!isAtRest && count < mostWindows) {
      before = last;
      continue;
    }
    if (!isAtRest) say(`not at rest after ${(mostWindows * windowMs) / 1_000} s: figures of the processor say little`);
    return { cpu: before.cpu + last.cpu, seconds: before.seconds + last.seconds };
  }
}

/** Processor time that is taken while a task runs. */
export async function spent(
  cpu: () => number,
  task: () => Promise<unknown>,
  now: () => number = () => performance.now(),
): Promise<Spent> {
  const [before, beganAt] = [cpu(), now()];
  await task();
  return { cpu: cpu() - before, seconds: (now() - beganAt) / 1_000 };
}
