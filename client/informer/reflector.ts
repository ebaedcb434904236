import { ApiError, isExpired } from '../../api/errors/index.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { linkAbort, onAbort } from '../abort.ts';
import { type BackoffOptions, createBackoff } from '../backoff.ts';
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
   * Lists again, and resolves when the sink has a list that was begun after this call, or when `signal` aborts. While
   * the server is away it waits.
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
  const { name, client, sink, scope = {}, silenceMs = defaultSilenceMs, clock = systemClock, logger = stderrLogger } = options;
  const backoff = createBackoff(options.backoff ?? defaultBackoff);
  /** The version up to which the sink knows everything; undefined: it knows nothing for sure. */
  let version: string | undefined;
  let emptyStreams = 0;
  /** Those who wait for a list that has not begun. */
  let waiting: (() => void)[] = [];
  /** Ends the step under way, so that the next one lists. */
  let interrupt = (): void => {};

  async function list(signal: AbortSignal): Promise<void> {
    const served = waiting;
    waiting = [];
    try {
      const listing = await listAll(client as ResourceClient<T>, scope, { signal });
      if (signal.aborted) return;
      sink.replace(listing.items);
      version = listing.resourceVersion;
      for (const resolve of served.splice(0)) resolve();
    } finally {
      waiting.push(...served);
    }
  }

  function relist(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const finish = (): void => {
        unlink();
        resolve();
      };
      const unlink = onAbort(signal, finish);
      waiting.push(finish);
      version = undefined;
      interrupt();
    });
  }

  function take(events: readonly WatchEvent<T>[]): void {
    const from = version;
    version = undefined;
    const changes = events.filter((event) => event.type !== 'BOOKMARK');
    if (changes.length > 0) sink.apply(changes);
    version = events.at(-1)?.object.metadata?.resourceVersion ?? from;
  }

  async function watch(signal: AbortSignal): Promise<void> {
    const startedAt = clock.now();
    let batches = 0;
    const onSilence = () => logger.info({ reflector: name, silenceMs }, 'watch is silent, opening it again');
    const open = (attempt: AbortSignal) =>
      client.watch({ ...scope, resourceVersion: version, allowWatchBookmarks: true }, { signal: attempt });
    for await (const events of readUntilSilent(open, { signal, clock, silenceMs, onSilence })) {
      if (signal.aborted) return;
      batches++;
      take(events);
      backoff.reset();
    }
    emptyStreams = batches > 0 || clock.now() - startedAt >= workingMs ? 0 : emptyStreams + 1;
  }

  async function step(signal: AbortSignal): Promise<void> {
    if (version === undefined || waiting.length > 0) await list(signal);
    if (signal.aborted) return;
    await watch(signal);
    if (emptyStreams > 1) await pause(backoff.next(), signal, clock);
  }

  async function recover(error: unknown, signal: AbortSignal): Promise<void> {
    if (isExpired(error)) version = undefined;
    const waitMs = Math.max(backoff.next(), askedWaitMs(error));
    const level = error instanceof ApiError ? 'warn' : 'error';
    logger[level]({ reflector: name, waitMs, err: error }, version === undefined ? 'will list again' : 'will watch again');
    await pause(waitMs, signal, clock);
  }

  async function run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const own = linkAbort(signal);
      interrupt = own.abort;
      try {
        await step(own.signal);
      } catch (error) {
        if (!own.signal.aborted) await recover(error, own.signal);
      } finally {
        own.unlink();
      }
    }
  }

  return { run, relist, version: () => version };
}

/** How long the server asks to wait; 0 when it does not. */
function askedWaitMs(error: unknown): number {
  return (error instanceof ApiError && error.retryAfterMs) || 0;
}
