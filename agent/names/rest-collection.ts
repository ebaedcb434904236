import { Session } from 'node:inspector';
import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

/** What a thread measures of itself, and what it does about it. */
export interface ThreadHeap {
  /** How long the thread has been at work so far, in milliseconds. */
  activeMs(): number;
  /** Bytes of the heap that are in use, by what lives and by garbage. */
  usedBytes(): number;
  /** Collects the whole heap and gives unused memory back. Blocks for some 2 ms for each MB that lives. */
  collect(): void;
}

/** How often it is looked whether work has ended. */
export const lookMs = 10_000;
/** A hundredth of the time: some queries a second, which wait for the pause. */
const restMs = lookMs / 100;
/** Less garbage is not worth the pause. */
const worthBytes = 2 * 1024 * 1024;
/** A larger heap would keep queries waiting for more than 64 ms. */
const mostBytes = 32 * 1024 * 1024;

/**
 * Collects the heap of this thread when work has ended: V8 does so only as memory grows, and after the start the thread
 * would keep three times what it needs. Does not keep the thread alive.
 */
export function collectAtRest(heap: ThreadHeap = ownHeap()): () => void {
  let activeMs = 0;
  let usedBytes = 0;
  const timer = setInterval(() => {
    const worked = heap.activeMs() - activeMs;
    activeMs += worked;
    const now = heap.usedBytes();
    if (worked <= restMs && now <= mostBytes && now - usedBytes > worthBytes) {
      heap.collect();
      usedBytes = heap.usedBytes();
    }
    // V8 collects by itself too.
    usedBytes = Math.min(usedBytes, heap.usedBytes());
  }, lookMs);
  timer.unref();
  return () => clearInterval(timer);
}

export function ownHeap(): ThreadHeap {
  return {
    activeMs: () => performance.eventLoopUtilization().active,
    usedBytes: () => getHeapStatistics().used_heap_size,
    // Node.js has no call of its own for it; no port is opened for this session.
    collect() {
      const session = new Session();
      session.connect();
      // V8 holds a mutex while it answers, which ending the session takes too: not within the answer.
      session.post('HeapProfiler.collectGarbage', () => setImmediate(() => session.disconnect()));
    },
  };
}
