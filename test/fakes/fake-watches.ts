import { ApiError } from '../../api/errors/index.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import type { Scope, WatchEvent } from '../../client/services/resource-client.ts';
import { matchesScope } from './fake-selectors.ts';

interface Change<T> {
  readonly revision: number;
  readonly old: T | undefined;
  readonly next: T | undefined;
}

interface Watcher<T> {
  push(events: WatchEvent<T>[]): void;
  change(change: Change<T>): void;
  end(error?: Error): void;
}

/** How a watcher with this scope sees a change: objects that start or cease to match appear and disappear. */
function seen<T extends ApiObject>(change: Change<T>, scope: Scope): WatchEvent<T> | undefined {
  const before = change.old !== undefined && matchesScope(change.old, scope);
  const after = change.next !== undefined && matchesScope(change.next, scope);
  if (after) return { type: before ? 'MODIFIED' : 'ADDED', object: structuredClone(change.next!) };
  if (!before) return undefined;
  const object = structuredClone(change.next ?? change.old!);
  object.metadata = { ...object.metadata, resourceVersion: String(change.revision) };
  return { type: 'DELETED', object };
}

/** The history of changes and the open watches of a fake client. */
export function createFakeWatches<T extends ApiObject>() {
  let history: Change<T>[] = [];
  let compacted = 0;
  const watchers = new Set<Watcher<T>>();

  async function* open(from: number, scope: Scope, signal: AbortSignal | undefined): AsyncGenerator<WatchEvent<T>[]> {
    const batches: WatchEvent<T>[][] = [];
    let ended: { error?: Error | undefined } | undefined;
    let wake = () => {};
    const watcher: Watcher<T> = {
      push(events) {
        if (ended) return;
        batches.push(events);
        wake();
      },
      change(change) {
        const event = seen(change, scope);
        if (event) watcher.push([event]);
      },
      end(error) {
        ended ??= { error };
        wake();
      },
    };
    const abort = () => watcher.end(new ApiError('CANCELLED', 'Cancelled', 'watch: aborted'));
    signal?.addEventListener('abort', abort);
    if (signal?.aborted) abort();
    for (const change of history) if (change.revision > from) watcher.change(change);
    watchers.add(watcher);
    try {
      for (;;) {
        while (batches.length > 0) yield batches.shift()!;
        if (ended?.error) throw ended.error;
        if (ended) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    } finally {
      watchers.delete(watcher);
      signal?.removeEventListener('abort', abort);
    }
  }

  return {
    open,
    record(revision: number, old: T | undefined, next: T | undefined): void {
      const change = { revision, old, next };
      history.push(change);
      for (const watcher of watchers) watcher.change(change);
    },
    send(events: WatchEvent<T>[]): void {
      for (const watcher of watchers) watcher.push(structuredClone(events));
    },
    end(error?: Error): void {
      for (const watcher of watchers) watcher.end(error);
    },
    compact(revision: number): void {
      history = [];
      compacted = revision;
    },
    get compacted() {
      return compacted;
    },
    get size() {
      return watchers.size;
    },
  };
}
