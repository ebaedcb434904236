import { setImmediate } from 'node:timers/promises';

/** So long other work of the process waits. A step may be a bit longer. */
const longestTurnMs = 20;

/** Work that may pause between its steps. */
export type Steps<T = void> = Generator<void, T>;

export function runAtOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Lets the process do other work every `turnMs`. */
export async function runInTurns<T>(steps: Steps<T>, turnMs = longestTurnMs): Promise<T> {
  for (let beganAt = performance.now(); ; ) {
    const { done, value } = steps.next();
    if (done) return value;
    if (performance.now() - beganAt < turnMs) continue;
    await setImmediate();
    beganAt = performance.now();
  }
}
