import { describe, expect, it } from 'vitest';
import { isExhausted } from '../../api/errors/index.ts';
import { createFakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { createWorkQueue } from './work-queue.ts';

function setup(options: { maxKeys?: number } = {}) {
  const clock = createFakeClock();
  const logger = createFakeLogger();
  const backoff = { initialMs: 100, maxMs: 1_000, jitter: 0 };
  return { clock, logger, queue: createWorkQueue({ name: 'test', clock, logger, backoff, ...options }) };
}

/** A gate that the test opens. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

describe('work queue', () => {
  it('hands keys out in the order they were added, each once', async () => {
    const { queue } = setup();
    for (const key of ['b', 'a', 'b', 'c', 'a']) queue.add(key);
    expect(queue.length).toBe(3);
    expect([await queue.get(), await queue.get(), await queue.get()]).toEqual(['b', 'a', 'c']);
  });

  it('keeps the order over thousands of keys', async () => {
    const { queue } = setup();
    const keys = Array.from({ length: 5_000 }, (_, index) => `key-${index}`);
    for (const key of keys) queue.add(key);
    for (const key of keys) expect(await queue.get()).toBe(key);
    expect(queue.length).toBe(0);
  });

  it('does not hand out a key while it is processed, and hands it out again when it was added meanwhile', async () => {
    const { queue } = setup();
    queue.add('a');
    await queue.get();
    queue.add('a');
    expect(queue.length).toBe(0);
    queue.done('a');
    expect(await queue.get()).toBe('a');
    queue.done('a');
    expect(queue.length).toBe(0);
  });

  it('wakes a waiting get', async () => {
    const { queue } = setup();
    const got = queue.get();
    queue.add('a');
    expect(await got).toBe('a');
  });

  it('adds a delayed key when its time has come, and the earlier time counts', async () => {
    const { queue, clock } = setup();
    queue.addAfter('a', 1_000);
    queue.addAfter('a', 400);
    queue.addAfter('a', 2_000);
    await clock.advance(399);
    expect(queue.length).toBe(0);
    await clock.advance(1);
    expect(queue.length).toBe(1);
    await queue.get();
    queue.done('a');
    await clock.advance(5_000);
    expect(queue.length).toBe(0);
  });

  it('makes each rate-limited add of a key wait longer, up to the maximum, until it is forgotten', async () => {
    const { queue, clock } = setup();
    for (const waitMs of [100, 200, 400, 800, 1_000, 1_000]) {
      queue.addRateLimited('a');
      await clock.advance(waitMs - 1);
      expect(queue.length).toBe(0);
      await clock.advance(1);
      expect(await queue.get()).toBe('a');
      queue.done('a');
    }
    expect(queue.failures('a')).toBe(6);
    queue.forget('a');
    queue.addRateLimited('a');
    await clock.advance(100);
    expect(queue.length).toBe(1);
  });

  it('refuses more keys than its bound, naming itself, but takes those that it knows', () => {
    const { queue } = setup({ maxKeys: 2 });
    queue.add('a');
    queue.addAfter('b', 1_000);
    expect(() => queue.add('c')).toThrow(/queue "test": 2 keys are waiting/);
    let error: unknown;
    try {
      queue.addAfter('c', 1);
    } catch (caught) {
      error = caught;
    }
    expect(isExhausted(error)).toBe(true);
    queue.add('a');
    queue.addAfter('b', 10);
  });

  it('gives undefined to every get once it is shut down, and drops delayed keys', async () => {
    const { queue, clock } = setup();
    queue.addAfter('a', 1_000);
    const got = queue.get();
    queue.shutDown();
    expect(await got).toBeUndefined();
    queue.add('b');
    expect(await queue.get()).toBeUndefined();
    expect(clock.pending).toBe(0);
  });

  it('runs at most so many handlers at once, never two for one key', async () => {
    const { queue } = setup();
    const stop = new AbortController();
    const running: string[] = [];
    const gates = [gate(), gate(), gate()];
    let started = 0;
    const done = queue.run(
      2,
      async (key) => {
        running.push(key);
        await gates[started++]!.opened;
        running.splice(running.indexOf(key), 1);
      },
      stop.signal,
    );
    for (const key of ['a', 'a', 'b', 'c']) queue.add(key);
    await settle();
    queue.add('a');
    expect(running).toEqual(['a', 'b']);
    gates[1]!.open();
    await settle();
    expect(running).toEqual(['a', 'c']);
    stop.abort();
    for (const { open } of gates) open();
    await done;
  });

  it('retries a key whose handler throws after its back-off, says so, and forgets it when it works', async () => {
    const { queue, clock, logger } = setup();
    const stop = new AbortController();
    const handledAt: number[] = [];
    const start = clock.now();
    const done = queue.run(
      1,
      async () => {
        handledAt.push(clock.now() - start);
        if (handledAt.length < 3) throw new Error('not yet');
      },
      stop.signal,
    );
    queue.add('a');
    await clock.advance(1_000);
    expect(handledAt).toEqual([0, 100, 300]);
    expect(queue.failures('a')).toBe(0);
    expect(logger.lines.map((line) => [line.level, line.fields.queue, line.fields.key])).toEqual([
      ['warn', 'test', 'a'],
      ['warn', 'test', 'a'],
    ]);
    stop.abort();
    await done;
  });

  it('returns from run only when the running handlers have returned', async () => {
    const { queue } = setup();
    const stop = new AbortController();
    const { open, opened } = gate();
    let returned = false;
    const done = queue
      .run(1, () => opened, stop.signal)
      .then(() => {
        returned = true;
      });
    queue.add('a');
    await settle();
    stop.abort();
    await settle();
    expect(returned).toBe(false);
    open();
    await done;
    expect(returned).toBe(true);
  });
});
