import { exhausted } from '../../api/errors/index.ts';
import type { MetricsRegistry } from '../../api/metrics/index.ts';
import { onAbort } from '../abort.ts';
import { type BackoffOptions, backoffDelayMs } from '../backoff.ts';
import { type Clock, systemClock } from '../clock.ts';
import { type Logger, stderrLogger } from '../logger.ts';
import { WorkQueueMeter } from './work-queue-meter.ts';

/** Does what a key needs. `signal` aborts when the queue's run ends. */
export type Handle = (key: string, signal: AbortSignal) => Promise<void>;

/**
 * Keys that need work, each at most once. A key is in one of these states:
 *
 *     (absent) --add--> queued --get--> processing --done--> (absent)
 *                                          | add              ^
 *                                          v                  |
 *                                   processing+dirty --done--> queued
 *
 * A key is never handed to two workers at once, and a key that is added while it is worked on is handed out again
 * afterwards. So a key that is added after a change is handled at least once after the change.
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
  /**
   * The key that has waited longest; waits for one, undefined once the queue is shut down.
   * Every key got must be `done`.
   */
  get(): Promise<string | undefined>;
  done(key: string): void;
  /** Nothing is added any more, delayed keys are dropped, every `get` gives undefined. For good. */
  shutDown(): void;
  /** How many keys are ready and not yet got. */
  readonly length: number;
  /**
   * Handles keys with so many workers until `signal` aborts; then it shuts the queue down and returns when the running
   * handlers have. A handler that throws is logged and its key added rate-limited; one that returns has its key
   * forgotten. Run it once.
   */
  run(workers: number, handle: Handle, signal: AbortSignal): Promise<void>;
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
  /** Where it puts what it measures of itself, under its name. */
  readonly metrics?: MetricsRegistry | undefined;
}

/** A cluster of 5,000 nodes at 110 pods has 550,000 keys; twice that is a mistake in the caller. */
const defaultMaxKeys = 1_000_000;
const defaultBackoff: BackoffOptions = { initialMs: 200, maxMs: 300_000 };

interface Delayed {
  readonly dueAt: number;
  cancel(): void;
}

/** The workers of a run. */
interface Crew {
  readonly workers: number;
  /** How many of them have a key. */
  working: number;
  readonly handle: Handle;
  readonly signal: AbortSignal;
  over(): void;
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
  return new KeyedQueue(options);
}

class KeyedQueue implements WorkQueue {
  readonly #name: string;
  readonly #backoff: BackoffOptions;
  readonly #maxKeys: number;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** In the order of handling. Invariant: exactly the keys of dirty that are not in processing. */
  readonly #queue = createFifo();
  /** Needs handling. */
  readonly #dirty = new Set<string>();
  /** Is handed out. */
  readonly #processing = new Set<string>();
  /** Is added later. May overlap with the others: the key is then handled once more. */
  readonly #delayed = new Map<string, Delayed>();
  readonly #failures = new Map<string, number>();
  /** Those waiting in `get`. Invariant: empty unless the queue is. */
  readonly #getters: ((key: string | undefined) => void)[] = [];
  readonly #meter: WorkQueueMeter | undefined;
  /** Those who work while `run` does. */
  #crew: Crew | undefined;
  #down = false;

  constructor(options: WorkQueueOptions) {
    this.#name = options.name;
    this.#backoff = options.backoff ?? defaultBackoff;
    this.#maxKeys = options.maxKeys ?? defaultMaxKeys;
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger ?? stderrLogger;
    const now = () => this.#clock.now();
    this.#meter = options.metrics && new WorkQueueMeter(options.metrics, { name: options.name, now, length: () => this.length });
  }

  get length(): number {
    return this.#queue.length;
  }

  add(key: string): void {
    if (this.#down || this.#dirty.has(key)) return;
    this.#checkRoom(key);
    this.#insert(key);
  }

  addAfter(key: string, ms: number): void {
    if (ms <= 0) this.add(key);
    else {
      if (!this.#delayed.has(key)) this.#checkRoom(key);
      this.#delay(key, ms);
    }
  }

  addRateLimited(key: string): void {
    if (!this.#delayed.has(key)) this.#checkRoom(key);
    this.#delayFailed(key);
  }

  forget(key: string): void {
    this.#failures.delete(key);
  }

  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  get(): Promise<string | undefined> {
    if (this.#down) return Promise.resolve(undefined);
    const key = this.#take();
    if (key !== undefined) return Promise.resolve(key);
    return new Promise((resolve) => this.#getters.push(resolve));
  }

  done(key: string): void {
    if (!this.#processing.delete(key)) return;
    this.#meter?.finished(key);
    if (this.#dirty.has(key) && !this.#down) this.#enqueue(key);
  }

  shutDown(): void {
    this.#down = true;
    this.#meter?.close();
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    for (const getter of this.#getters.splice(0)) getter(undefined);
    this.#endCrew();
  }

  async run(workers: number, handle: Handle, signal: AbortSignal): Promise<void> {
    const unlink = onAbort(signal, () => this.shutDown());
    const isOver = new Promise<void>((resolve) => {
      this.#crew = { workers, working: 0, handle, signal, over: resolve };
    });
    while (this.#startWorker());
    this.#endCrew();
    await isOver;
    unlink();
  }

  /**
   * A worker is there only while it has keys: hundreds that wait would take more memory than a small process's rest.
   */
  #startWorker(): boolean {
    const crew = this.#crew;
    if (crew === undefined || this.#down || crew.working === crew.workers) return false;
    const key = this.#take();
    if (key === undefined) return false;
    crew.working++;
    void this.#work(key, crew);
    return true;
  }

  async #work(first: string, crew: Crew): Promise<void> {
    const { handle, signal } = crew;
    for (let key: string | undefined = first; key !== undefined; key = this.#down ? undefined : this.#take()) {
      // Not within the `add` that started this.
      await undefined;
      try {
        await handle(key, signal);
        this.forget(key);
      } catch (err) {
        if (!signal.aborted)
          this.#logger.warn({ queue: this.#name, key, failures: this.failures(key), err }, 'handling failed, will retry');
        // Never refused: the key keeps the room that it had.
        this.#delayFailed(key);
      } finally {
        this.done(key);
      }
    }
    crew.working--;
    this.#endCrew();
  }

  #endCrew(): void {
    if (this.#down && this.#crew?.working === 0) this.#crew.over();
  }

  #delayFailed(key: string): void {
    const failures = this.failures(key);
    this.#meter?.retried();
    if (!this.#down) this.#failures.set(key, failures + 1);
    this.#delay(key, backoffDelayMs(this.#backoff, failures));
  }

  #delay(key: string, ms: number): void {
    if (this.#down) return;
    const dueAt = this.#clock.now() + ms;
    const waiting = this.#delayed.get(key);
    if (waiting && waiting.dueAt <= dueAt) return;
    waiting?.cancel();
    const cancel = this.#clock.after(ms, () => {
      this.#delayed.delete(key);
      this.#insert(key);
    });
    this.#delayed.set(key, { dueAt, cancel });
  }

  #insert(key: string): void {
    if (this.#dirty.has(key)) return;
    this.#dirty.add(key);
    this.#meter?.added(key);
    if (!this.#processing.has(key)) this.#enqueue(key);
  }

  #enqueue(key: string): void {
    this.#queue.push(key);
    if (this.#getters.length > 0) this.#getters.shift()!(this.#take());
    else this.#startWorker();
  }

  #take(): string | undefined {
    const key = this.#queue.shift();
    if (key === undefined) return undefined;
    this.#dirty.delete(key);
    this.#processing.add(key);
    this.#meter?.taken(key);
    return key;
  }

  #checkRoom(key: string): void {
    if (!this.#down && this.#dirty.size + this.#delayed.size >= this.#maxKeys)
      throw exhausted(`add "${key}" to queue "${this.#name}": ${this.#maxKeys} keys are waiting; handle them faster`);
  }
}
