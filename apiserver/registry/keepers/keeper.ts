import type { Logger } from 'pino';
import { isAlreadyExists, isConflict, isNotFound } from '../../../api/errors/index.ts';
import { pause, type StorageClock, systemStorageClock } from '../../storage/clock.ts';
import type { Entry } from '../../watch/entry.ts';
import type { KindCache } from '../../watch/kind-cache.ts';

/** By then the cache shows what came between. */
const conflictRetryMs = 200;
const firstRetryMs = 1_000;
const mostRetryMs = 60_000;

/** What wakes a keeper: a change of a kind. */
export interface KeeperSource {
  readonly cache: KindCache;
  /** The keys on which an object bears. */
  keysOf(entry: Entry): readonly string[];
}

export interface KeeperOptions {
  /** For the log: "the IPAddresses of Services". */
  readonly what: string;
  readonly sources: readonly KeeperSource[];
  /** All keys there are, which are looked at when a cache starts afresh: what is gone since then had no event. */
  all(): Iterable<string>;
  /** Looks at a key, which is all that it is told, and writes what is missing. True: it wrote. */
  sync(key: string): Promise<boolean>;
  /** How many keys are looked at at once (1). */
  readonly workers?: number;
  /** How long a key rests after a write (0): another writer of the object and this one do not keep the server busy. */
  readonly paceMs?: number;
  readonly clock?: StorageClock;
  readonly log: Logger;
}

/**
 * Keeps the server's own objects as they should be while others change. At most one look at a key is under way; what
 * changes meanwhile is looked at again. What fails is logged and tried again, later each time, and does not hold up
 * other keys for longer than a second.
 */
export class Keeper {
  readonly #options: KeeperOptions;
  readonly #due = new Set<string>();
  /** Under way or at rest. */
  readonly #busy = new Set<string>();
  /** How long a key that failed rests after its next failure. */
  readonly #backoffs = new Map<string, number>();
  #waiting: (() => void)[] = [];

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /** Looks at a key once the keeper runs. */
  wake(key: string): void {
    this.#due.add(key);
    this.#waiting.shift()?.();
  }

  wakeAll(): void {
    for (const key of this.#options.all()) this.wake(key);
  }

  /** Looks at all keys, then at those that change, until the signal aborts. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const { sources, workers = 1 } = this.#options;
    const leave = sources.map((source) => this.#follow(source));
    const onAbort = (): void => {
      for (const resolve of this.#waiting.splice(0)) resolve();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await Promise.all(Array.from({ length: workers }, () => this.#work(signal)));
    } finally {
      for (const each of leave) each();
      signal.removeEventListener('abort', onAbort);
    }
  }

  #follow({ cache, keysOf }: KeeperSource): () => void {
    const wakeFor = (entry: Entry): void => {
      for (const key of keysOf(entry)) this.wake(key);
    };
    return cache.observe({
      reset: () => this.wakeAll(),
      event: ({ entry, previous }) => {
        if (previous) cache.attempt(entry.key, () => wakeFor(previous));
        wakeFor(entry);
      },
    });
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { what, sync, paceMs = 0, clock = systemStorageClock, log } = this.#options;
    while (!signal.aborted) {
      const key = this.#take();
      if (key === undefined) {
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
        continue;
      }
      try {
        const hasWritten = await sync(key);
        this.#backoffs.delete(key);
        this.#rest(key, hasWritten ? paceMs : 0, signal);
      } catch (error) {
        this.#due.add(key);
        if (isConflict(error) || isNotFound(error) || isAlreadyExists(error)) this.#rest(key, conflictRetryMs, signal);
        else {
          log.warn({ err: error, key }, `cannot keep ${what}: trying again`);
          this.#rest(key, this.#backOff(key), signal);
          // While the store fails, every key does: bounds the attempts, and what is logged of them.
          await pause(firstRetryMs, clock, signal);
        }
      }
    }
  }

  #backOff(key: string): number {
    const ms = this.#backoffs.get(key) ?? firstRetryMs;
    this.#backoffs.set(key, Math.min(2 * ms, mostRetryMs));
    return ms;
  }

  #rest(key: string, ms: number, signal: AbortSignal): void {
    const { clock = systemStorageClock } = this.#options;
    if (ms > 0) void pause(ms, clock, signal).then(() => this.#release(key));
    else this.#release(key);
  }

  #release(key: string): void {
    this.#busy.delete(key);
    if (this.#due.has(key)) this.#waiting.shift()?.();
  }

  /** A key that is due, and neither under way nor at rest. */
  #take(): string | undefined {
    for (const key of this.#due) {
      if (this.#busy.has(key)) continue;
      this.#due.delete(key);
      this.#busy.add(key);
      return key;
    }
    return undefined;
  }
}
