import { setTimeout as delay } from 'node:timers/promises';
import { atMost, type Figure, median, note } from '../figure.ts';
import { berthRound, floorRound } from './rounds.ts';
import { withBerth } from './with-berth.ts';

const rounds = 15;
const settleMs = 500;
const refillTimeoutMs = 30_000;

/** How long a pod takes that finds a sandbox made in advance, against the engine driven directly, which makes one. */
export function benchWarm(say: (text: string) => void): Promise<Figure[]> {
  return withBerth(['--warm-sandboxes', '1'], async (berth, engine) => {
    const waiting = () => engine.countRunning('io.berth.pool', `io.berth.node=${berth.nodeName}`);
    const floor: number[] = [];
    const ours: number[] = [];
    for (let round = 0; round < rounds; round++) {
      floor.push((await floorRound(engine, 1, 1)).run);
      const deadline = Date.now() + refillTimeoutMs;
      while ((await waiting()) < 1) {
        if (Date.now() > deadline) throw new Error(`no sandbox waits for a pod after ${refillTimeoutMs} ms`);
        await delay(100);
      }
      // The agent looks at what it has made before it gives it away.
      await delay(settleMs);
      ours.push((await berthRound(berth, engine, { count: 1 })).run);
      say(`round ${round + 1}/${rounds}: floor ${floor.at(-1)?.toFixed(2)} s, with a warm sandbox ${ours.at(-1)?.toFixed(2)} s`);
    }
    return [
      note('floor 1 pod p50', median(floor), 's'),
      note('1 pod with a warm sandbox p50', median(ours), 's'),
      atMost('1 pod with a warm sandbox ratio', median(ours) / median(floor), 'x', 0.7),
    ];
  });
}
