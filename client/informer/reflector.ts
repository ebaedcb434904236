import { ApiError, isExpired } from '../../api/errors/index.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { linkAbort, onAbort } from '../abort.ts';
import { type Backoff, type BackoffOptions, createBackoff } from '../backoff.ts';
import { type Clock, pause, systemClock } from '../clock.ts';
import { type Logger, stderrLogger } from '../logger.ts';
import type { ResourceClient, Scope, WatchEvent } from '../services/resource-client.ts';
import { listAll } from './list-all.ts';
import { readUntilSilent } from './read-until-silent.ts';

/**
 * Keeps a sink equal to what the API server has.
 *
 * 1. It lists, hands the list to `replace`, and watches from the list's version;
 *    it goes on until the signal aborts, whatever fails.
 * 2. Between two calls of `replace`, the sink gets every change exactly once and in order.
 * 3. A stream that ends normally is not a failure: the watch goes on at once from the last version seen. (A server that
 *    ends streams as soon as they are open is: from the second one on it waits.)
 * 4. Every error is logged and followed by a wait that grows with each failure in a row and is partly random, and is
 *    never shorter than the server asked for. The watch then goes on from the last version seen.
 * 5. A version that is no longer kept (OUT_OF_RANGE) is forgotten; a fresh list follows, never the same version again.
 * 6. A connection that has died without a word is noticed: when nothing comes for `silenceMs`, bookmarks included, the
 *    watch is opened again from the last version seen.
 * 7. A sink that throws is a defect of the sink: the reflector logs it, and lists again,
 *    since the state of the sink is unknown.
 */
export interface Reflector {
  run(signal: AbortSignal): Promise<void>;
  /** The version up to which the sink knows everything; undefined while it is unknown. */
  version(): string | undefined;
  /**
   * Lists again, and resolves when the sink has a list that was begun after this call, or when `signal` aborts or the
   * reflector has ended. While the server is away it waits.
   */
  relist(signal: AbortSignal): Promise<void>;
}

/** What follows the API server. Called one after the other, never concurrently. */
export interface ReflectorSink<T> {
  /** Everything there is now; what the sink knows besides is gone. */
  replace(objects: readonly T[]): void;
  /** Changes since the last call, without bookmarks. */
  apply(events: readonly WatchEvent<T>[]): void;
}

export interface ReflectorOptions<T extends ApiObject> {
  readonly name: string;
  readonly client: Pick<ResourceClient<T>, 'list' | 'watch'>;
  readonly sink: ReflectorSink<T>;
  readonly scope?: Scope | undefined;
  readonly backoff?: BackoffOptions | undefined;
  readonly silenceMs?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly logger?: Logger | undefined;
}

/** The server sends a bookmark at least every minute; two may be lost. */
const defaultSilenceMs = 150_000;
const defaultBackoff: BackoffOptions = { initialMs: 200, maxMs: 30_000 };
/** A stream that lived longer than this was a working one. */
const workingMs = 1_000;

/** Does nothing until `run`. */
export function createReflector<T extends ApiObject>(options: ReflectorOptions<T>): Reflector {
  return new ListingReflector(options);
}

class ListingReflector<T extends ApiObject> implements Reflector {
  readonly #options: ReflectorOptions<T>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #backoff: Backoff;
  /** The version up to which the sink knows everything; undefined: it knows nothing for sure. */
  #version: string | undefined;
  #emptyStreams = 0;
  /** Those who wait for a list that has not begun. */
  #waiting: (() => void)[] = [];
  /** Ends the step under way, so that the next one lists. */
  #interrupt = (): void => {};
  #ended = false;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger ?? stderrLogger;
    this.#backoff = createBackoff(options.backoff ?? defaultBackoff);
  }

  version(): string | undefined {
    return this.#version;
  }

  relist(signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#ended) return Promise.resolve();
    return new Promise((resolve) => {
      const finish = (): void => {
        unlink();
        resolve();
      };
      const unlink = onAbort(signal, finish);
      this.#waiting.push(finish);
      this.#version = undefined;
      this.#interrupt();
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const own = linkAbort(signal);
      this.#interrupt = own.abort;
      try {
        await this.#step(own.signal);
      } catch (error) {
        if (!own.signal.aborted) await this.#recover(error, own.signal);
      } finally {
        own.unlink();
      }
    }
    this.#ended = true;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  async #step(signal: AbortSignal): Promise<void> {
    if (this.#version === undefined || this.#waiting.length > 0) await this.#list(signal);
    if (signal.aborted) return;
    await this.#watch(signal);
    if (this.#emptyStreams > 1) await pause(this.#backoff.next(), signal, this.#clock);
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, scope = {}, sink } = this.#options;
    const served = this.#waiting;
    this.#waiting = [];
    try {
      const listing = await listAll(client as ResourceClient<T>, scope, { signal });
      if (signal.aborted) return;
      sink.replace(listing.items);
      this.#version = listing.resourceVersion;
      for (const resolve of served.splice(0)) resolve();
    } finally {
      this.#waiting.push(...served);
    }
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { name, client, scope, silenceMs = defaultSilenceMs } = this.#options;
    const [clock, logger] = [this.#clock, this.#logger];
    const startedAt = clock.now();
    let batches = 0;
    const onSilence = () => logger.info({ reflector: name, silenceMs }, 'watch is silent, opening it again');
    const open = (attempt: AbortSignal) =>
      client.watch({ ...scope, resourceVersion: this.#version, allowWatchBookmarks: true }, { signal: attempt });
    for await (const events of readUntilSilent(open, { signal, clock, silenceMs, onSilence })) {
      if (signal.aborted) return;
      batches++;
      this.#take(events);
      this.#backoff.reset();
    }
    this.#emptyStreams = batches > 0 || clock.now() - startedAt >= workingMs ? 0 : this.#emptyStreams + 1;
  }

  #take(events: readonly WatchEvent<T>[]): void {
    const from = this.#version;
    this.#version = undefined;
    const changes = events.filter((event) => event.type !== 'BOOKMARK');
    if (changes.length > 0) this.#options.sink.apply(changes);
    this.#version = events.at(-1)?.object.metadata?.resourceVersion ?? from;
  }

  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    if (isExpired(error)) this.#version = undefined;
    const waitMs = Math.max(this.#backoff.next(), askedWaitMs(error));
    const level = error instanceof ApiError ? 'warn' : 'error';
    const what = this.#version === undefined ? 'will list again' : 'will watch again';
    this.#logger[level]({ reflector: this.#options.name, waitMs, err: error }, what);
    await pause(waitMs, signal, this.#clock);
  }
}

/** How long the server asks to wait; 0 when it does not. */
function askedWaitMs(error: unknown): number {
  return (error instanceof ApiError && error.retryAfterMs) || 0;
}
