import { exhausted } from '../api/errors/index.ts';
import { onAbort } from './abort.ts';
import { type BackoffOptions, backoffDelayMs } from './backoff.ts';
import { type Clock, systemClock } from './clock.ts';
import { type Logger, stderrLogger } from './logger.ts';

/**
 * Keys that need work, each at most once. A key is in one of these states:
 *
 *     (absent) --add--> queued --get--> processing --done--> (absent)
 *                                          | add              ^
 *                                          v                  |
 *                                   processing+dirty --done--> queued
 *
 * A key is never handed to two workers at once, and a key that is added while it is worked on is handed out again afterwards. So
 * whoever adds a key after a change can be sure that a handling starts later than the change.
 */
export interface WorkQueue {
  /** Wants the key handled. Throws RESOURCE_EXHAUSTED when `maxKeys` are waiting; does nothing after shutDown. */
  add(key: string): void;
  /** Adds the key after `ms`; when it already waits, the earlier time counts. */
  addAfter(key: string, ms: number): void;
  /** Adds the key after its own back-off, which grows until `forget`. */
  addRateLimited(key: string): void;
  /** The key's next back-off is the first again. Does not take the key out of the queue. */
  forget(key: string): void;
  /** How often the key was added rate-limited since it was last forgotten. */
  failures(key: string): number;
  /** The key that has waited longest; waits for one, undefined once the queue is shut down. Every key got must be `done`. */
  get(): Promise<string | undefined>;
  done(key: string): void;
  /** Nothing is added any more, delayed keys are dropped, every `get` gives undefined. For good. */
  shutDown(): void;
  /** How many keys are ready and not yet got. */
  readonly length: number;
  /**
   * Handles keys with so many workers until `signal` aborts; then it shuts the queue down and returns when the running handlers
   * have. A handler that throws is logged and its key added rate-limited; one that returns has its key forgotten.
   */
  run(workers: number, handle: (key: string, signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void>;
}

export interface WorkQueueOptions {
  /** For logs and errors. */
  readonly name: string;
  /** Of each key; by default 0.2 s to 5 min. */
  readonly backoff?: BackoffOptions;
  /** The most keys that may wait, delayed ones included. */
  readonly maxKeys?: number;
  readonly clock?: Clock;
  readonly logger?: Logger;
}

/** A cluster of 5,000 nodes at 110 pods has 550,000 keys; twice that is a mistake in the caller. */
const defaultMaxKeys = 1_000_000;
const defaultBackoff: BackoffOptions = { initialMs: 200, maxMs: 300_000 };

interface Delayed {
  readonly dueAt: number;
  cancel(): void;
}

/** First in, first out, without moving the rest for each key taken. */
function createFifo() {
  let items: string[] = [];
  let head = 0;
  return {
    push: (key: string) => void items.push(key),
    shift(): string | undefined {
      if (head === items.length) return undefined;
      const key = items[head++];
      if (head > 1024 && head * 2 > items.length) {
        items = items.slice(head);
        head = 0;
      }
      return key;
    },
    get length() {
      return items.length - head;
    },
  };
}

export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  const { name, backoff = defaultBackoff, maxKeys = defaultMaxKeys, clock = systemClock, logger = stderrLogger } = options;
  /** In the order of handling. Invariant: exactly the keys of dirty that are not in processing. */
  const queue = createFifo();
  /** Needs handling. */
  const dirty = new Set<string>();
  /** Is handed out. */
  const processing = new Set<string>();
  const delayed = new Map<string, Delayed>();
  const failures = new Map<string, number>();
  /** Those waiting in `get`. Invariant: empty unless the queue is. */
  const getters: ((key: string | undefined) => void)[] = [];
  let down = false;

  function checkRoom(key: string): void {
    if (dirty.size + delayed.size >= maxKeys && !delayed.has(key))
      throw exhausted(`add "${key}" to queue "${name}": ${maxKeys} keys are waiting; handle them faster`);
  }

  function enqueue(key: string): void {
    queue.push(key);
    const getter = getters.shift();
    if (getter) getter(take());
  }

  function take(): string | undefined {
    const key = queue.shift();
    if (key === undefined) return undefined;
    dirty.delete(key);
    processing.add(key);
    return key;
  }

  function add(key: string): void {
    if (down || dirty.has(key)) return;
    checkRoom(key);
    dirty.add(key);
    if (!processing.has(key)) enqueue(key);
  }

  function addAfter(key: string, ms: number): void {
    if (down) return;
    if (ms <= 0) return add(key);
    const dueAt = clock.now() + ms;
    const waiting = delayed.get(key);
    if (waiting && waiting.dueAt <= dueAt) return;
    checkRoom(key);
    waiting?.cancel();
    const cancel = clock.after(ms, () => {
      delayed.delete(key);
      add(key);
    });
    delayed.set(key, { dueAt, cancel });
  }

  function addRateLimited(key: string): void {
    const count = failures.get(key) ?? 0;
    failures.set(key, count + 1);
    addAfter(key, backoffDelayMs(backoff, count));
  }

  function get(): Promise<string | undefined> {
    const key = take();
    if (key !== undefined || down) return Promise.resolve(down ? undefined : key);
    return new Promise((resolve) => getters.push(resolve));
  }

  function done(key: string): void {
    if (processing.delete(key) && dirty.has(key) && !down) enqueue(key);
  }

  function shutDown(): void {
    if (down) return;
    down = true;
    for (const entry of delayed.values()) entry.cancel();
    delayed.clear();
    for (const getter of getters.splice(0)) getter(undefined);
  }

  async function work(handle: (key: string, signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    for (let key = await get(); key !== undefined; key = await get()) {
      try {
        await handle(key, signal);
        failures.delete(key);
      } catch (err) {
        if (!signal.aborted)
          logger.warn({ queue: name, key, failures: failures.get(key) ?? 0, err }, 'handling failed, will retry');
        addRateLimited(key);
      } finally {
        done(key);
      }
    }
  }

  async function run(workers: number, handle: (key: string, signal: AbortSignal) => Promise<void>, signal: AbortSignal) {
    const unlink = onAbort(signal, shutDown);
    try {
      await Promise.all(Array.from({ length: workers }, () => work(handle, signal)));
    } finally {
      unlink();
    }
  }

  return {
    add,
    addAfter,
    addRateLimited,
    forget: (key) => void failures.delete(key),
    failures: (key) => failures.get(key) ?? 0,
    get,
    done,
    shutDown,
    get length() {
      return queue.length;
    },
    run,
  };
}
