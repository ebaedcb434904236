import { closed } from './checks.ts';
import type { StorageEvent } from './storage.ts';
import { StorageError } from './storage-error.ts';

/** What a watcher may leave unread before it is cut off. The bytes are shared between the watchers of one event. */
export interface WatcherLimits {
  readonly maxEvents: number;
  readonly maxBytes: number;
}

/** Some seconds of a busy cluster. */
export const defaultWatcherLimits: WatcherLimits = { maxEvents: 20_000, maxBytes: 64 * 1024 * 1024 };

/** Events of one watcher, from the moment of `subscribe` on. Read by one consumer. */
export interface Subscription {
  /** Waits for events and takes all that are there; undefined after the abort. Throws `slow` and `closed`. */
  next(): Promise<readonly StorageEvent[] | undefined>;
  release(): void;
}

/** Hands published events to every watcher without ever waiting for one. */
export interface WatcherHub {
  /** Call in revision order. */
  publish(events: readonly StorageEvent[]): void;
  subscribe(prefix: string, signal: AbortSignal): Subscription;
  /** Ends every watcher with `closed`. */
  close(): void;
}

interface Watcher {
  readonly prefix: string;
  events: StorageEvent[];
  bytes: number;
  failure: StorageError | undefined;
  ended: boolean;
  wake: () => void;
}

const nobody = (): void => undefined;

export function createWatcherHub(limits: WatcherLimits): WatcherHub {
  const watchers = new Set<Watcher>();

  function fail(watcher: Watcher, failure: StorageError): void {
    watcher.failure = failure;
    watcher.events = [];
    watchers.delete(watcher);
    watcher.wake();
  }

  function deliver(watcher: Watcher, events: readonly StorageEvent[]): void {
    const before = watcher.events.length;
    for (const event of events) {
      if (!event.key.startsWith(watcher.prefix)) continue;
      watcher.events.push(event);
      watcher.bytes += event.bytes.length;
    }
    if (watcher.events.length === before) return;
    if (watcher.events.length > limits.maxEvents || watcher.bytes > limits.maxBytes) fail(watcher, slow(watcher));
    else watcher.wake();
  }

  return {
    publish(events) {
      for (const watcher of watchers) deliver(watcher, events);
    },
    subscribe(prefix, signal) {
      const watcher: Watcher = { prefix, events: [], bytes: 0, failure: undefined, ended: false, wake: nobody };
      const release = (): void => {
        watcher.ended = true;
        watcher.events = [];
        watchers.delete(watcher);
        signal.removeEventListener('abort', release);
        watcher.wake();
      };
      if (signal.aborted) watcher.ended = true;
      else {
        watchers.add(watcher);
        signal.addEventListener('abort', release);
      }
      return { next: () => take(watcher), release };
    },
    close() {
      for (const watcher of watchers) fail(watcher, closed());
    },
  };
}

async function take(watcher: Watcher): Promise<readonly StorageEvent[] | undefined> {
  while (!watcher.ended && !watcher.failure && watcher.events.length === 0)
    await new Promise<void>((resolve) => {
      watcher.wake = resolve;
    });
  watcher.wake = nobody;
  if (watcher.ended) return undefined;
  if (watcher.failure) throw watcher.failure;
  const events = watcher.events;
  watcher.events = [];
  watcher.bytes = 0;
  return events;
}

function slow(watcher: Watcher): StorageError {
  return new StorageError(
    'slow',
    `watch ${watcher.prefix}: ${watcher.events.length} events were left unread; read faster, or list and watch again`,
  );
}

export interface WatchParts {
  readonly subscription: Subscription;
  /**
   * The events above the start revision up to the moment of the subscription; may throw `compacted` when it is
   * overtaken.
   */
  readonly history: Iterable<readonly StorageEvent[]>;
  /** Why there is no such history. */
  readonly refusal: StorageError | undefined;
  readonly signal: AbortSignal;
}

/** One watch: the history, then the live events. */
export async function* readWatch({
  subscription,
  history,
  refusal,
  signal,
}: WatchParts): AsyncGenerator<readonly StorageEvent[], void, undefined> {
  try {
    if (signal.aborted) return;
    if (refusal) throw refusal;
    for (const batch of history) {
      if (batch.length > 0) yield batch;
      if (signal.aborted) return;
    }
    for (let batch = await subscription.next(); batch; batch = await subscription.next()) yield batch;
  } finally {
    subscription.release();
  }
}
