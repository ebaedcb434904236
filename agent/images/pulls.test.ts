import { describe, expect, it } from 'vitest';
import { createFakeClock, settle } from '../../test/fakes/fake-clock.ts';
import type { LocalImage, PullOptions, PullProgress } from '../runtime/runtime.ts';
import { createPulls } from './pulls.ts';

interface Held extends PullOptions {
  readonly reference: string;
  finish(): void;
  fail(error: Error): void;
}

function setUp({ atOnce = 2, patienceMs = 60_000 } = {}) {
  const clock = createFakeClock();
  const stop = new AbortController();
  const held: Held[] = [];
  const images = {
    pull: (reference: string, options: PullOptions) =>
      new Promise<LocalImage>((resolve, reject) => {
        held.push({
          ...options,
          reference,
          finish: () => resolve({ id: reference, names: [reference], sizeBytes: 1 }),
          fail: reject,
        });
      }),
  };
  const pulls = createPulls({ images, clock, atOnce, patienceMs, signal: stop.signal });
  const started = () => held.map(({ reference }) => reference);
  function wish(reference: string) {
    const leave = new AbortController();
    const told: string[] = [];
    const outcome = pulls
      .pull({ reference, credentials: [] }, { signal: leave.signal, onProgress: (words) => told.push(words) })
      .then(
        ({ image, pullMs }) => ({ id: image.id, pullMs }),
        (error: Error) => error.message,
      );
    return { leave: () => leave.abort(new Error('left')), told, outcome };
  }
  const of = (reference: string) => held.findLast((each) => each.reference === reference)!;
  return { clock, held, started, wish, of, stop };
}

const step = (phase: PullProgress['phase'], bytesDone = 0): PullProgress => ({
  phase,
  layersDone: 1,
  layers: 3,
  bytesDone,
  bytes: 100,
});

describe('pulls', () => {
  it('of the same image are one, for all pods that wait', async () => {
    const { wish, of, started } = setUp();
    const wishes = [wish('a'), wish('a')];
    await settle();
    of('a').finish();
    expect(await Promise.all(wishes.map(({ outcome }) => outcome))).toMatchObject([{ id: 'a' }, { id: 'a' }]);
    expect(started()).toEqual(['a']);
  });

  it('run so many at once, in the order of asking, and count the time of the pull alone', async () => {
    const { wish, of, started, clock } = setUp({ atOnce: 1 });
    const first = wish('a');
    const second = wish('b');
    await clock.advance(2_000);
    expect(started()).toEqual(['a']);
    of('a').finish();
    expect(await first.outcome).toEqual({ id: 'a', pullMs: 2_000 });
    await clock.advance(1_000);
    of('b').finish();
    expect(await second.outcome).toEqual({ id: 'b', pullMs: 1_000 });
  });

  it('end with the last who waits for them, and not before', async () => {
    const { wish, of } = setUp();
    const [one, two] = [wish('a'), wish('a')];
    await settle();
    one.leave();
    expect(await one.outcome).toBe('left');
    expect(of('a').signal.aborted).toBe(false);
    two.leave();
    expect(await two.outcome).toBe('left');
    expect(of('a').signal.aborted).toBe(true);
  });

  it('that were given up begin anew for the next who asks', async () => {
    const { wish, of, started } = setUp();
    const one = wish('a');
    await settle();
    one.leave();
    await one.outcome;
    const two = wish('a');
    await settle();
    of('a').finish();
    expect(await two.outcome).toMatchObject({ id: 'a' });
    expect(started()).toEqual(['a', 'a']);
  });

  it('leave the line when no pod waits for them any more', async () => {
    const { wish, of, started } = setUp({ atOnce: 1 });
    wish('a');
    const second = wish('b');
    const third = wish('c');
    await settle();
    second.leave();
    expect(await second.outcome).toBe('left');
    of('a').finish();
    await settle();
    expect(started()).toEqual(['a', 'c']);
    of('c').finish();
    expect(await third.outcome).toMatchObject({ id: 'c' });
  });

  it('end with the agent', async () => {
    const { wish, of, stop } = setUp();
    const one = wish('a');
    await settle();
    stop.abort(new Error('the agent ends'));
    expect(await one.outcome).toBe('the agent ends');
    expect(of('a').signal.aborted).toBe(true);
  });
});

describe('a pull that does not move', () => {
  it('is ended after its time, with the reason and how far it was', async () => {
    const { wish, of, clock } = setUp();
    const one = wish('a');
    await clock.advance(30_000);
    of('a').onProgress?.(step('downloading', 5));
    await clock.advance(59_000);
    of('a').onProgress?.(step('downloading', 10));
    await clock.advance(59_000);
    of('a').onProgress?.(step('downloading', 10));
    await clock.advance(1_000);
    expect(await one.outcome).toBe('pull image a: no progress for 1m0s: 1 of 3 layers, 10 B of 100 B');
    expect(of('a').signal.aborted).toBe(true);
  });

  it('is ended when the registry does not answer at all', async () => {
    const { wish, clock } = setUp();
    const one = wish('a');
    await clock.advance(60_000);
    expect(await one.outcome).toBe("pull image a: no progress for 1m0s: waiting for the registry's answer");
  });

  it('gives its place to others after a moment', async () => {
    const { wish, of, started, clock } = setUp({ atOnce: 1 });
    wish('a');
    const second = wish('b');
    await clock.advance(5_000);
    expect(started()).toEqual(['a', 'b']);
    of('b').finish();
    expect(await second.outcome).toMatchObject({ id: 'b' });
  });

  it("is ended sooner when another waits for the engine's places that it holds", async () => {
    const { wish, of, clock } = setUp();
    const stalled = wish('a');
    const waits = wish('b');
    await settle();
    of('a').onProgress?.(step('downloading', 5));
    of('b').onProgress?.(step('queued'));
    await clock.advance(15_000);
    expect(await stalled.outcome).toContain('no progress for 15s');
    await clock.advance(40_000);
    of('b').onProgress?.(step('downloading', 1));
    of('b').finish();
    expect(await waits.outcome).toMatchObject({ id: 'b' });
  });

  it.each(['unpacking', 'queued'] as const)('has ten times as long while the engine is at it: %s', async (phase) => {
    const { wish, of, clock } = setUp();
    const one = wish('a');
    await settle();
    of('a').onProgress?.(step(phase));
    await clock.advance(599_000);
    expect(of('a').signal.aborted).toBe(false);
    await clock.advance(1_000);
    expect(await one.outcome).toContain('no progress for 10m0s');
  });

  it('is not ended by a clock that is set', async () => {
    const { wish, of, clock } = setUp();
    const one = wish('a');
    await clock.advance(10_000);
    clock.skew(3_600_000);
    await clock.advance(10_000);
    expect(of('a').signal.aborted).toBe(false);
    clock.skew(-7_200_000);
    of('a').finish();
    expect(await one.outcome).toEqual({ id: 'a', pullMs: 0 });
  });
});

describe('a pull that takes long', () => {
  it('is reported after half a minute and then ever more seldom, a dozen times at most', async () => {
    const { wish, of, clock } = setUp();
    const one = wish('a');
    const at: number[] = [];
    for (let minute = 0, bytes = 0; minute < 48 * 60; minute++) {
      for (let half = 0; half < 2; half++) {
        await clock.advance(30_000);
        of('a').onProgress?.(step('downloading', ++bytes));
        if (one.told.length > at.length) at.push(minute + (half + 1) / 2);
      }
    }
    expect(at).toEqual([0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512]);
    expect(one.told[1]).toBe('1 of 3 layers, 1 B of 100 B, no progress for 30s');
  });
});
