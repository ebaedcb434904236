import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type HeapReducer, LargeHeap, v8Reducer } from './large-heap.ts';

/** What a process measures of itself, and what it does about it. */
export interface Collector {
  /** Processor time so far, in milliseconds. */
  cpuMs(): number;
  /** How long the thread with the event loop has waited for a processor so far, in milliseconds. */
  waitedMs(): number;
  /**
   * Bytes of the heap that are in use, by what lives and by garbage; without what is young, which V8 itself collects
   * all the time and cheaply.
   */
  heapBytes(): number;
  /**
   * Bytes that V8 holds for young objects: up to 32 MB after a busy second. A full collection keeps them, unless V8 is
   * told that memory is short.
   */
  youngBytes(): number;
  /** Collects the whole heap and gives unused memory back. Blocks for some 50 ms, or 2 ms for each MB that lives. */
  collect(): void;
  /**
   * The same, soon, and gives back the room for young objects and compiled code, which V8 compiles again from the text
   * when it runs next. Blocks for twice as long.
   */
  shrink(): void;
  /** For heaps that are too large for these pauses. */
  readonly reducer: HeapReducer;
}

/** The interval between two looks at the process. */
export const checkMs = 10_000;
/**
 * Processor time in an interval up to which the process is quiet, so that a pause of 50 ms delays nothing: a fifth of a
 * core. Heartbeats of 500 nodes take half of that, and lists of the engine far less. Time that it waits for a processor
 * counts too: on a machine that is overloaded a process at work gets little of one, and a pause comes on top.
 */
const quietMs = checkMs / 5;
/** Processor time beyond which the process is busy: half a core. The reduction of a large heap alone takes less. */
const busyMs = checkMs / 2;
/** Processor time up to which the process only ticks: it needs no room for young objects, and little of its code. */
const restMs = checkMs / 40;
/** Growth of the heap that is worth a pause; a process that only ticks takes minutes for it. */
const worthBytes = 8 * 1024 * 1024;
/** The same as a share of the live heap, because the pause grows with that; the larger of both counts. */
const worthFraction = 1 / 4;
/** The bound of collections in a row that only give back the room for young objects. */
const mostRepeats = 3;
/** The largest heap that is collected in one pause while the process only ticks; LargeHeap reduces a larger one. */
const mostShrunkBytes = 128 * 1024 * 1024;
/** The same while the process works a little, such as for changes of Services: a pause of 64 ms at most. */
const mostPausedBytes = 32 * 1024 * 1024;

/**
 * Collects what work has left behind when it has ended, until aborted: V8 collects when memory grows, so a process that
 * has done its work and only ticks would keep the garbage of its busiest minute, as much again as it needs. Work is
 * processor time, or a heap that has grown: after a busy minute V8 may have collected the heap, but it keeps the room
 * that it took for it until it is collected at rest, and what it compiled. A large heap is reduced instead, without a
 * long pause (LargeHeap). Does not keep the process alive.
 */
export function collectWhenIdle(signal: AbortSignal, collector: Collector = v8Collector()): void {
  let cpuMs = collector.cpuMs();
  let waitedMs = collector.waitedMs();
  let heapBytes = collector.heapBytes();
  let hasWorked = false;
  /** Whether there was work since code was given back, at the start too. */
  let hasCode = true;
  let repeats = 0;
  const large = new LargeHeap(collector.reducer);
  const timer = setInterval(() => {
    const workedMs = collector.cpuMs() - cpuMs;
    const isQuiet = workedMs + collector.waitedMs() - waitedMs <= quietMs;
    const rests = isQuiet && workedMs <= restMs;
    const isLarge = collector.heapBytes() > (rests ? mostShrunkBytes : mostPausedBytes);
    const isReducing = large.check({ isLarge, isQuiet, isBusy: workedMs > busyMs });
    hasWorked ||= !isQuiet || collector.heapBytes() - heapBytes > Math.max(worthBytes, heapBytes * worthFraction);
    hasCode ||= hasWorked;
    if (!rests) repeats = 0;
    const holdsRoom = rests && repeats < mostRepeats && collector.youngBytes() > worthBytes;
    const shrinks = rests && (holdsRoom || hasCode);
    if (isQuiet && !isLarge && !isReducing && (hasWorked || holdsRoom || shrinks)) {
      if (shrinks) collector.shrink();
      else collector.collect();
      if (shrinks) hasCode = false;
      repeats++;
      heapBytes = collector.heapBytes();
      hasWorked = false;
    }
    // V8 collects by itself too.
    heapBytes = Math.min(heapBytes, collector.heapBytes());
    cpuMs = collector.cpuMs();
    waitedMs = collector.waitedMs();
  }, checkMs);
  timer.unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
}

/**
 * A collection forgets what was compiled of each function that is not at work, in the first two of V8's steps. By
 * itself it would take several collections without a call of the function, and keep what the second step made.
 */
const forgetsCode = '--stress-flush-code --flush-baseline-code';
/** As V8 has it by itself. */
const keepsCode = '--no-stress-flush-code --no-flush-baseline-code';

/** The process itself, as V8 sees it. */
export function v8Collector(): Collector {
  let gc: (() => void) | undefined;
  const collect = (): void => {
    gc ??= exposedGc();
    gc();
  };
  const committedBytes = () => getHeapSpaceStatistics().reduce((sum, { space_size: size }) => sum + size, 0);
  return {
    reducer: v8Reducer({ collect, committedBytes }),
    collect,
    cpuMs() {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    },
    waitedMs: readWaitedMs,
    // Not what it takes from the system: that falls only some time after a collection.
    heapBytes: () =>
      getHeapSpaceStatistics()
        .filter(({ space_name: name }) => !name.startsWith('new_'))
        .reduce((sum, { space_used_size: used }) => sum + used, 0),
    youngBytes: () => getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0,
    // Node.js has no call of its own for V8's notice that memory is low; no port is opened for this session.
    shrink() {
      const session = new Session();
      session.connect();
      setFlagsFromString(forgetsCode);
      session.post('HeapProfiler.collectGarbage', () => {
        setFlagsFromString(keepsCode);
        // V8 holds a mutex while it answers, which ending the session takes too: not within the answer.
        setImmediate(() => session.disconnect());
      });
    },
  };
}

/** The second figure is in nanoseconds. A kernel that does not count has no such file, or zeros in it. */
function readWaitedMs(): number {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

/**
 * Contexts that are made while the flag is set have the function;
 * a flag on the command line would need a launcher of its own.
 */
function exposedGc(): () => void {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  return gc;
}
