import type { ApiObject } from '../api/kinds/kind.ts';
import { objectKey } from '../api/meta/key.ts';
import { onAbort } from './abort.ts';
import type { BackoffOptions } from './backoff.ts';
import { type Clock, systemClock } from './clock.ts';
import { deepFreeze } from './freeze.ts';
import { createIndexer, type IndexFunction, type Lister } from './indexer.ts';
import { type Logger, stderrLogger } from './logger.ts';
import { createReflector } from './reflector.ts';
import type { ResourceClient, Scope, WatchEvent } from './resource-client.ts';

/**
 * A local copy of a kind's objects, kept equal to the API server's, that tells its handlers of every change.
 *
 * - The store is changed first, then each handler is told, in the order in which handlers were added. So a handler finds in the lister
 *   what it is told about, or something newer.
 * - Each handler is told of an object's changes in order, starting with onAdd. One that is added later is told of everything there is.
 * - A handler that throws is logged by its name; the others and the store do not notice.
 * - After a gap (a lost connection, an expired version) handlers are told the difference: what has gone, what is new, and what has
 *   another resourceVersion. What has not changed is not mentioned.
 * - An object that was deleted and created again during a gap looks like an update: where identity matters, compare uid.
 * - Objects are shared: copy before changing one. With `freeze` a change throws.
 */
export interface Informer<T> {
  /** `handler.name` is for logs. The returned function removes the handler. */
  addHandler(handler: InformerHandler<T>): () => void;
  readonly lister: Lister<T>;
  /** Whether the first list is in the lister and was told to the handlers. Stays true. */
  hasSynced(): boolean;
  /** Resolves when it has synced, or when `signal` aborts: look at the signal afterwards. */
  waitForSync(signal: AbortSignal): Promise<void>;
  /** Follows the API server until `signal` aborts. Never throws; run it once. */
  run(signal: AbortSignal): Promise<void>;
}

/** What wants to know of changes. Called one after the other; what takes longer than a moment belongs into a work queue. */
export interface InformerHandler<T> {
  readonly name?: string;
  onAdd?(object: T): void;
  onUpdate?(next: T, old: T): void;
  /** The object as it was last known. */
  onDelete?(old: T): void;
}

export interface InformerOptions<T extends ApiObject> {
  readonly client: Pick<ResourceClient<T>, 'list' | 'watch'>;
  /** Which objects; all of the kind by default. */
  readonly scope?: Scope;
  readonly indexers?: Readonly<Record<string, IndexFunction<T>>>;
  /** For logs, e.g. "pods". */
  readonly name: string;
  /** Freezes every object, so that a handler that changes one is found. On where NODE_ENV is "test". */
  readonly freeze?: boolean;
  readonly backoff?: BackoffOptions;
  /** See Reflector. */
  readonly silenceMs?: number;
  readonly clock?: Clock;
  readonly logger?: Logger;
}

type Change<T> = { readonly next: T; readonly old: T | undefined } | { readonly next: undefined; readonly old: T };

/** Does nothing until `run`. */
export function createInformer<T extends ApiObject>(options: InformerOptions<T>): Informer<T> {
  const { client, scope, name, clock = systemClock, logger = stderrLogger, freeze = process.env.NODE_ENV === 'test' } = options;
  const store = createIndexer<T>(options.indexers);
  const handlers = new Set<InformerHandler<T>>();
  const waiting = new Set<() => void>();
  let synced = false;

  function tell(handler: InformerHandler<T>, change: Change<T>): void {
    try {
      if (change.next === undefined) handler.onDelete?.(change.old);
      else if (change.old === undefined) handler.onAdd?.(change.next);
      else handler.onUpdate?.(change.next, change.old);
    } catch (err) {
      logger.error(
        { informer: name, handler: handler.name ?? 'unnamed', key: objectKey(change.next ?? change.old!), err },
        'handler failed',
      );
    }
  }

  function tellAll(changes: readonly Change<T>[]): void {
    for (const change of changes) for (const handler of [...handlers]) if (handlers.has(handler)) tell(handler, change);
  }

  /** The change that storing this makes; undefined when this very version is stored. */
  function keep(object: T): Change<T> | undefined {
    const old = store.get(objectKey(object));
    if (old && isSameVersion(old, object)) return undefined;
    store.set(freeze ? deepFreeze(object) : object);
    return { next: object, old };
  }

  function remove(key: string): Change<T> | undefined {
    const old = store.delete(key);
    return old === undefined ? undefined : { next: undefined, old };
  }

  function replace(objects: readonly T[]): void {
    const present = new Set(objects.map(objectKey));
    const gone = [...store.keys()].filter((key) => !present.has(key)).map(remove);
    const changes = [...gone, ...objects.map(keep)].filter((change) => change !== undefined);
    tellAll(changes);
    synced = true;
    for (const wake of waiting) wake();
    waiting.clear();
  }

  function apply(events: readonly WatchEvent<T>[]): void {
    for (const { type, object } of events) {
      const change = type === 'DELETED' ? remove(objectKey(object)) : keep(object);
      if (change) tellAll([change]);
    }
  }

  const { backoff, silenceMs } = options;
  const reflector = createReflector<T>({ name, client, scope, backoff, silenceMs, clock, logger, sink: { replace, apply } });

  return {
    lister: store,
    hasSynced: () => synced,
    run: reflector.run,
    addHandler(handler) {
      handlers.add(handler);
      for (const object of store.list()) tell(handler, { next: object, old: undefined });
      return () => void handlers.delete(handler);
    },
    waitForSync(signal) {
      if (synced || signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const finish = () => {
          unlink();
          waiting.delete(finish);
          resolve();
        };
        waiting.add(finish);
        const unlink = onAbort(signal, finish);
      });
    },
  };
}

function isSameVersion(a: ApiObject, b: ApiObject): boolean {
  return (
    a.metadata?.uid === b.metadata?.uid &&
    a.metadata?.resourceVersion !== undefined &&
    a.metadata.resourceVersion === b.metadata?.resourceVersion
  );
}
