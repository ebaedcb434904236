import { expect, test } from 'vitest';
import { EventBatcher } from './event-batcher.ts';
import { Ticker } from './ticker.ts';
import { Turns } from './turns.ts';

/** A clock that runs what is due when it is moved. */
function fakeClock() {
  let now = 0;
  let due: { at: number; run: () => void }[] = [];
  const later = (run: () => void, ms: number): { unref(): void } => {
    due.push({ at: now + ms, run });
    return { unref: () => {} };
  };
  const advance = (ms: number): void => {
    const end = now + ms;
    for (;;) {
      const [next] = due.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (!next) break;
      due = due.filter((each) => each !== next);
      now = Math.max(now, next.at);
      next.run();
    }
    now = end;
  };
  const clock = { now: () => now, setTimeout: later, setImmediate: (run: () => void) => void later(run, 0) };
  return { clock, advance, spend: (ms: number) => (now += ms), pending: () => due.length };
}

test('a first event wakes watchers in the next turn', () => {
  const { clock, advance } = fakeClock();
  const batcher = new EventBatcher(clock);
  let woken = 0;
  batcher.add(() => woken++);
  batcher.request();
  expect(woken).toBe(0);
  advance(0);
  expect(woken).toBe(1);
});

/**
 * How long events gather between the end of a batch and the next, when each batch costs so much and an event comes in
 * every millisecond.
 */
function gapBetweenBatches(costMs: number): number {
  const { clock, advance, spend } = fakeClock();
  const batcher = new EventBatcher(clock);
  const [begun, ended]: [number[], number[]] = [[], []];
  batcher.add(() => {
    begun.push(clock.now());
    spend(costMs);
    ended.push(clock.now());
  });
  while (begun.length < 30) {
    batcher.request();
    advance(1);
  }
  return begun.at(-1)! - ended.at(-2)!;
}

test('batches that cost little follow each other at once', () => {
  expect(gapBetweenBatches(0.01)).toBeLessThanOrEqual(1);
});

test('the more a batch costs the longer events gather, up to a bound', () => {
  expect(gapBetweenBatches(1)).toBeGreaterThan(5);
  expect(gapBetweenBatches(1)).toBeLessThan(8);
  expect(gapBetweenBatches(500)).toBeGreaterThan(11);
  expect(gapBetweenBatches(500)).toBeLessThan(14);
});

test('wakes nothing without watchers, and no watcher that has left', () => {
  const { clock, advance, pending } = fakeClock();
  const batcher = new EventBatcher(clock);
  batcher.request();
  expect(pending()).toBe(0);
  let woken = 0;
  const leave = batcher.add(() => woken++);
  batcher.request();
  leave();
  advance(20);
  expect(woken).toBe(0);
});

test('one timer serves all that look at the clock, and none runs without them', () => {
  const { clock, advance, pending } = fakeClock();
  const ticker = new Ticker(clock, 100);
  const seen: string[] = [];
  const leave = ['a', 'b'].map((name) => ticker.add((now) => seen.push(`${name}${now}`)));
  expect(pending()).toBe(1);
  advance(100);
  leave[0]!();
  advance(100);
  expect(seen).toEqual(['a100', 'b100', 'b200']);
  leave[1]!();
  advance(1_000);
  expect(seen).toHaveLength(3);
  expect(pending()).toBe(0);
  ticker.add((now) => seen.push(`c${now}`));
  advance(100);
  expect(seen.at(-1)).toBe('c1300');
});

test('repeated work runs once in each turn, and removed work does not run', () => {
  const { clock, advance, pending } = fakeClock();
  const turns = new Turns((run) => clock.setImmediate(run));
  const done: string[] = [];
  const left = (): void => void done.push('left');
  const again = (): void => {
    done.push('a');
    if (done.length < 3) turns.add(again);
  };
  turns.add(again);
  turns.add(again);
  turns.add(left);
  turns.add(() => done.push('b'));
  turns.delete(left);
  expect(pending()).toBe(1);
  advance(0);
  expect(done).toEqual(['a', 'b', 'a']);
  expect(pending()).toBe(0);
});
