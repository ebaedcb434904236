import { setTimeout as delay } from 'node:timers/promises';

const looks = 20;
const everyMs = 50;
const mostLooks = 2_000;

/**
 * Waits until a count has been the same in twenty looks in a row, and gives it. Between two looks this process deals
 * with all that has come for it: one in which nothing moves only because the machine is busy does not count as still.
 */
export async function standsStill(what: string, count: () => number): Promise<number> {
  let last = count();
  for (let still = 0, looked = 0; still < looks; looked++) {
    if (looked > mostLooks) throw new Error(`still moves: ${what}, ${last}`);
    await delay(everyMs);
    const now = count();
    still = now === last ? still + 1 : 0;
    last = now;
  }
  return last;
}
