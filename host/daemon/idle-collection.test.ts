import { getHeapCodeStatistics } from 'node:v8';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Collector, checkMs, collectWhenIdle, v8Collector } from './idle-collection.ts';

const megabyte = 1024 * 1024;

/** A process whose figures the test sets. */
class Process implements Collector {
  cpu = 500;
  waited = 70_000;
  heap = 10 * megabyte;
  collected = 0;
  shrunk = 0;
  cpuMs = () => this.cpu;
  waitedMs = () => this.waited;
  young = 1 * megabyte;
  heapBytes = () => this.heap;
  youngBytes = () => this.young;
  collect = () => {
    this.collected++;
    this.cpu += 5_000;
    this.heap = 12 * megabyte;
  };
  shrink = () => {
    this.shrunk++;
    this.heap = Math.min(this.heap, 12 * megabyte);
  };
  collections = () => this.collected + this.shrunk;
  readonly reducerCalls: string[] = [];
  committed = 300 * megabyte;
  reducer = {
    committedBytes: () => this.committed,
    begin: () => void this.reducerCalls.push('begin'),
    end: () => void this.reducerCalls.push('end'),
    work: () => void this.reducerCalls.push('work'),
    collect: () => void this.reducerCalls.push('collect'),
  };
}

let stop: AbortController;
let process: Process;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  stop = new AbortController();
  process = new Process();
});
afterEach(() => {
  stop.abort();
  vi.useRealTimers();
});

describe('collecting when idle', () => {
  it('waits until work has ended, collects once, and again after more work', () => {
    collectWhenIdle(stop.signal, process);
    for (let check = 0; check < 3; check++) {
      process.cpu += 4_000;
      process.heap += 10 * megabyte;
      vi.advanceTimersByTime(checkMs);
    }
    expect(process.collections()).toBe(0);
    vi.advanceTimersByTime(10 * checkMs);
    expect(process.collections()).toBe(1);
    process.heap += 10 * megabyte;
    vi.advanceTimersByTime(10 * checkMs);
    expect(process.collections()).toBe(2);
  });

  it('collects after work that V8 has collected itself, once', () => {
    collectWhenIdle(stop.signal, process);
    process.cpu += 4_000;
    vi.advanceTimersByTime(checkMs);
    expect(process.collections()).toBe(0);
    vi.advanceTimersByTime(10 * checkMs);
    expect(process.collections()).toBe(1);
  });

  it('leaves a heap alone that has hardly grown', () => {
    collectWhenIdle(stop.signal, process);
    vi.advanceTimersByTime(checkMs);
    expect(process.collections()).toBe(1);
    process.heap += 7 * megabyte;
    vi.advanceTimersByTime(10 * checkMs);
    expect(process.collections()).toBe(1);
  });

  it('gives code back at rest, once after each work', () => {
    collectWhenIdle(stop.signal, process);
    vi.advanceTimersByTime(10 * checkMs);
    expect([process.shrunk, process.collected]).toEqual([1, 0]);
    // Neither work nor rest: the process goes on using its code.
    process.cpu += 4_000;
    for (let check = 0; check < 10; check++) {
      vi.advanceTimersByTime(checkMs);
      process.cpu += 500;
    }
    expect([process.shrunk, process.collected]).toEqual([1, 1]);
    vi.advanceTimersByTime(10 * checkMs);
    expect([process.shrunk, process.collected]).toEqual([2, 1]);
  });

  it('shrinks the room for young objects, three times at most while V8 keeps it', () => {
    collectWhenIdle(stop.signal, process);
    process.young = 32 * megabyte;
    vi.advanceTimersByTime(10 * checkMs);
    expect(process.shrunk).toBe(3);
    process.cpu += 4_000;
    vi.advanceTimersByTime(2 * checkMs);
    expect(process.shrunk).toBe(4);
    process.young = 1 * megabyte;
    vi.advanceTimersByTime(10 * checkMs);
    expect([process.shrunk, process.collected]).toEqual([4, 0]);
    // Three times again after each work.
    process.cpu += 4_000;
    process.young = 32 * megabyte;
    vi.advanceTimersByTime(10 * checkMs);
    expect([process.shrunk, process.collected]).toEqual([7, 0]);
  });

  it('takes a process that waits for a processor for one at work, until it waits no more', () => {
    collectWhenIdle(stop.signal, process);
    process.young = 32 * megabyte;
    for (let check = 0; check < 10; check++) {
      process.cpu += 200;
      process.waited += 6_000;
      vi.advanceTimersByTime(checkMs);
    }
    expect(process.collections()).toBe(0);
    // A process that only ticks waits a little each time, too.
    for (let check = 0; check < 10; check++) {
      process.cpu += 50;
      process.waited += 800;
      vi.advanceTimersByTime(checkMs);
    }
    expect([process.shrunk, process.collected]).toEqual([3, 0]);
  });

  it('counts how long the process waits for a processor', () => {
    const { waitedMs } = v8Collector();
    const before = waitedMs();
    // Some kernels do not count it.
    expect(before).toBeGreaterThanOrEqual(0);
    expect(waitedMs()).toBeGreaterThanOrEqual(before);
  });

  it('leaves a large heap alone until much of it is new', () => {
    process.heap = 80 * megabyte;
    process.shrink = () => process.shrunk++;
    collectWhenIdle(stop.signal, process);
    vi.advanceTimersByTime(checkMs);
    process.heap += 15 * megabyte;
    vi.advanceTimersByTime(10 * checkMs);
    expect(process.collections()).toBe(1);
    process.heap += 15 * megabyte;
    vi.advanceTimersByTime(10 * checkMs);
    expect(process.collections()).toBe(2);
  });

  it('lets V8 reduce a heap of more than 32 MB beside what runs, and collects it at once when the process rests', () => {
    process.heap = 40 * megabyte;
    collectWhenIdle(stop.signal, process);
    const pass = (percent: number) => {
      process.cpu += (percent * checkMs) / 100;
      vi.advanceTimersByTime(checkMs);
    };
    pass(80);
    for (let check = 0; check < 3; check++) pass(10);
    expect([process.collections(), process.reducerCalls]).toEqual([0, ['begin']]);
    process.committed = 30 * megabyte;
    for (let check = 0; check < 6; check++) pass(1);
    expect([process.collections(), process.reducerCalls]).toEqual([1, ['begin', 'end']]);
  });

  it('counts what a heap has grown from what V8 left of it', () => {
    process.heap = 40 * megabyte;
    process.shrink = () => process.shrunk++;
    collectWhenIdle(stop.signal, process);
    vi.advanceTimersByTime(checkMs);
    process.heap = 10 * megabyte;
    vi.advanceTimersByTime(10 * checkMs);
    expect(process.collections()).toBe(1);
    process.heap = 20 * megabyte;
    vi.advanceTimersByTime(10 * checkMs);
    expect(process.collections()).toBe(2);
  });

  describe('of a large heap, which would pause the process for long', () => {
    /** So many checks, in each of which the process takes so much of a core. */
    const pass = (checks: number, percent: number) => {
      for (let check = 0; check < checks; check++) {
        process.cpu += (percent * checkMs) / 100;
        vi.advanceTimersByTime(checkMs);
      }
    };

    beforeEach(() => {
      process.heap = 200 * megabyte;
      process.young = 32 * megabyte;
      collectWhenIdle(stop.signal, process);
    });
    afterEach(() => expect(process.collections()).toBe(0));

    it('lets V8 reduce it for a minute, once after each work', () => {
      pass(3, 80);
      expect(process.reducerCalls).toEqual([]);
      pass(3, 10);
      expect(process.reducerCalls).toEqual(['begin']);
      process.committed = 250 * megabyte;
      pass(30, 10);
      expect(process.reducerCalls).toEqual(['begin', 'end']);
      // Heartbeats leave garbage, which V8 collects by itself.
      process.heap = 280 * megabyte;
      pass(30, 10);
      expect(process.reducerCalls).toEqual(['begin', 'end']);
      pass(1, 80);
      expect(process.reducerCalls).toEqual(['begin', 'end', 'work']);
      pass(1, 10);
      expect(process.reducerCalls).toEqual(['begin', 'end', 'work', 'begin']);
    });

    it('takes no work for what V8 does meanwhile, and ends when there is work', () => {
      pass(1, 10);
      pass(3, 40);
      expect(process.reducerCalls).toEqual(['begin']);
      pass(1, 60);
      expect(process.reducerCalls).toEqual(['begin', 'end', 'work']);
      pass(1, 10);
      expect(process.reducerCalls).toEqual(['begin', 'end', 'work', 'begin']);
    });

    it('is collected at once when V8 did not reduce it', () => {
      pass(10, 10);
      expect(process.reducerCalls).toEqual(['begin', 'end', 'collect']);
    });

    it('is as for others once it has become small', () => {
      pass(1, 10);
      process.committed = process.heap = 90 * megabyte;
      pass(6, 10);
      expect(process.reducerCalls).toEqual(['begin', 'end']);
      pass(10, 1);
      expect(process.shrunk).toBe(3);
      process.shrunk = process.collected = 0;
    });
  });

  it('ends with the signal', () => {
    collectWhenIdle(stop.signal, process);
    process.heap += 20 * megabyte;
    stop.abort();
    vi.advanceTimersByTime(10 * checkMs);
    expect(process.collections()).toBe(0);
  });

  it('frees what the process itself has dropped', async () => {
    // The heap of a process of tests may be a large one.
    collectWhenIdle(stop.signal, { ...v8Collector(), heapBytes: () => 20 * megabyte });
    const dropped = new WeakRef({ large: Array.from({ length: 1_000_000 }, (_, index) => ({ index })) });
    // A WeakRef holds its target until the turn has ended.
    await new Promise((resolve) => setImmediate(resolve));
    vi.advanceTimersByTime(2 * checkMs);
    await vi.waitFor(() => expect(dropped.deref() === undefined).toBe(true));
  });

  it('gives back what was compiled, and the code runs again afterwards', async () => {
    const functions = Array.from({ length: 2_000 }, (_, index) => new Function('x', `return x + ${index};`));
    const sum = () => functions.reduce((total: number, each) => each(total) as number, 0);
    const size = () => getHeapCodeStatistics().bytecode_and_metadata_size;
    const before = sum();
    // So often that V8 compiles them into code of the second step, too.
    for (let i = 0; i < 1_000; i++) sum();
    const compiled = size();
    v8Collector().shrink();
    // Each function has some hundred bytes.
    const little = functions.length * 16;
    await vi.waitFor(() => expect(size()).toBeLessThan(compiled - little));
    const left = size();
    expect(sum()).toBe(before);
    const again = size();
    expect(again, 'compiled again').toBeGreaterThan(left + little);
    // Other collections keep code.
    v8Collector().collect();
    expect(size()).toBeGreaterThan(again - little);
  });

  it('reduces a heap full of holes while the process goes on', async () => {
    vi.useRealTimers();
    const { reducer, collect } = v8Collector();
    const kept: (object | undefined)[] = [];
    for (let i = 0; i < 1_500_000; i++) kept[i] = { i, text: `${i}`, more: [i] };
    collect();
    for (let i = 0; i < kept.length; i++) if (i % 8 !== 0) kept[i] = undefined;
    collect();
    const before = reducer.committedBytes();
    reducer.begin();
    try {
      // Garbage, so that V8 finds the process at work, as one with heartbeats is.
      await vi.waitFor(
        () => {
          for (let i = 0; i < 20_000; i++) kept[i * 8] = { i, text: `${i}`, more: [i] };
          expect(reducer.committedBytes()).toBeLessThan(before - 16 * megabyte);
        },
        { timeout: 60_000, interval: 20 },
      );
    } finally {
      reducer.end();
      reducer.work();
    }
    expect(kept.filter(Boolean)).toHaveLength(1_500_000 / 8);
  }, 90_000);

  it('gives back the room that V8 took for young objects', async () => {
    // The tests of other files may have left this process a heap that would only be collected, and may still work.
    const v8 = v8Collector();
    const calm: Collector = { ...v8, heapBytes: () => 0, cpuMs: () => 0, waitedMs: () => 0 };
    const kept: object[] = [];
    for (let i = 0; i < 5_000_000 && v8.youngBytes() < 16 * megabyte; i++) kept[i % 200_000] = { i, more: [i] };
    expect(v8.youngBytes()).toBeGreaterThanOrEqual(16 * megabyte);
    kept.length = 0;
    collectWhenIdle(stop.signal, calm);
    await vi.waitFor(() => {
      vi.advanceTimersByTime(checkMs);
      expect(v8.youngBytes()).toBeLessThan(8 * megabyte);
    });
  });
});
