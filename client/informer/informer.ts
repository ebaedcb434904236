import type { ApiObject } from '../../api/kinds/kind.ts';
import { deepFreeze } from '../../api/meta/deep-freeze.ts';
import { objectKey } from '../../api/meta/key.ts';
import { onAbort } from '../abort.ts';
import type { BackoffOptions } from '../backoff.ts';
import { type Clock, systemClock } from '../clock.ts';
import { type Logger, stderrLogger } from '../logger.ts';
import type { ResourceClient, Scope, WatchEvent } from '../services/resource-client.ts';
import { createIndexer, type Indexer, type IndexFunction, type Lister } from './indexer.ts';
import { createReflector, type Reflector } from './reflector.ts';

/**
 * A local copy of a kind's objects, kept equal to the API server's, that tells its handlers of every change.
 *
 * - The store is changed first, then each handler is told, in the order in which handlers were added. So a handler
 *   finds in the lister what it is told about, or something newer.
 * - Each handler is told of an object's changes in order, starting with onAdd.
 *   One that is added later is told of everything there is.
 * - A handler that throws is logged by its name; the others and the store do not notice.
 * - After a gap (a lost connection, an expired version) handlers are told the difference: what has gone, what is new,
 *   and what has another resourceVersion. What has not changed is not mentioned.
 * - An object that was deleted and created again during a gap looks like an update: where identity matters,
 *   compare uid.
 * - Objects are shared: copy before changing one. With `freeze` a change throws.
 */
export interface Informer<T> {
  /** `handler.name` is for logs. The returned function removes the handler. */
  addHandler(handler: InformerHandler<T>): () => void;
  readonly lister: Lister<T>;
  /** Whether the first list is in the lister and was told to the handlers. Stays true. */
  hasSynced(): boolean;
  /**
   * Resolves when it has synced, or when `signal` aborts or the informer has ended: look at the signal afterwards.
   */
  waitForSync(signal: AbortSignal): Promise<void>;
  /**
   * Whether the lister shows every change up to this version, e.g. that of a write. False while that is unknown.
   * Versions are compared as numbers, which those of Berth and Kubernetes are.
   */
  shows(resourceVersion: string): boolean;
  /**
   * Lists again, for who must not rely on what was read before, such as a new leader. Resolves when the lister shows a
   * list that was begun after the call, or when `signal` aborts or the informer has ended: look at the signal
   * afterwards.
   */
  relist(signal: AbortSignal): Promise<void>;
  /** Follows the API server until `signal` aborts. Never throws; run it once. */
  run(signal: AbortSignal): Promise<void>;
}

/**
 * What wants to know of changes. Called one after the other; what takes longer than a moment belongs into a work queue.
 */
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
  /**
   * What of an object is kept and told, for those who need little of many. Identity stays: name, namespace, uid,
   * resourceVersion. Must not change its argument. Called once for each object that comes; of a list page by page, so
   * that never more than a page of whole ones is held.
   */
  readonly transform?: (object: T) => T;
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

type Change<T> =
  | { readonly type: 'added'; readonly next: T }
  | { readonly type: 'updated'; readonly next: T; readonly old: T }
  | { readonly type: 'deleted'; readonly old: T };

/** Does nothing until `run`. */
export function createInformer<T extends ApiObject>(options: InformerOptions<T>): Informer<T> {
  return new StoreInformer(options);
}

class StoreInformer<T extends ApiObject> implements Informer<T> {
  readonly lister: Lister<T>;
  readonly #name: string;
  readonly #logger: Logger;
  readonly #freeze: boolean;
  readonly #transform: (object: T) => T;
  readonly #store: Indexer<T>;
  readonly #reflector: Reflector;
  readonly #handlers = new Set<InformerHandler<T>>();
  /** Those waiting for the first list. */
  readonly #waiting = new Set<() => void>();
  #synced = false;
  #ended = false;

  constructor(options: InformerOptions<T>) {
    const { name, scope, backoff, silenceMs, clock = systemClock, logger = stderrLogger } = options;
    this.#name = name;
    this.#logger = logger;
    this.#freeze = options.freeze ?? process.env.NODE_ENV === 'test';
    this.#transform = options.transform ?? ((object) => object);
    this.#store = createIndexer<T>(options.indexers);
    this.lister = this.#store;
    const sink = {
      replace: (objects: readonly T[]) => this.#replace(objects),
      apply: (events: readonly WatchEvent<T>[]) => this.#apply(events),
    };
    const client = this.#transforming(options.client);
    this.#reflector = createReflector<T>({ name, client, scope, backoff, silenceMs, clock, logger, sink });
  }

  addHandler(handler: InformerHandler<T>): () => void {
    this.#handlers.add(handler);
    for (const next of this.#store.list()) this.#tell(handler, { type: 'added', next });
    return () => void this.#handlers.delete(handler);
  }

  hasSynced(): boolean {
    return this.#synced;
  }

  waitForSync(signal: AbortSignal): Promise<void> {
    if (this.#synced || this.#ended || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const finish = () => {
        unlink();
        this.#waiting.delete(finish);
        resolve();
      };
      this.#waiting.add(finish);
      const unlink = onAbort(signal, finish);
    });
  }

  shows(resourceVersion: string): boolean {
    const version = this.#reflector.version();
    return version !== undefined && Number(version) >= Number(resourceVersion);
  }

  relist(signal: AbortSignal): Promise<void> {
    return this.#reflector.relist(signal);
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#reflector.run(signal);
    this.#ended = true;
    this.#wakeWaiting();
  }

  /** Lists what is kept of objects. */
  #transforming(client: InformerOptions<T>['client']): InformerOptions<T>['client'] {
    return {
      list: async (scope, call) => {
        const page = await client.list(scope, call);
        return { ...page, items: page.items.map(this.#transform) };
      },
      watch: (scope, call) => client.watch(scope, call),
    };
  }

  #replace(objects: readonly T[]): void {
    const present = new Set(objects.map(objectKey));
    const gone = [...this.#store.keys()].filter((key) => !present.has(key)).map((key) => this.#remove(key));
    const kept = objects.map((object) => this.#keep(object));
    for (const change of [...gone, ...kept]) if (change) this.#tellAll(change);
    this.#synced = true;
    this.#wakeWaiting();
  }

  #wakeWaiting(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  #apply(events: readonly WatchEvent<T>[]): void {
    for (const { type, object } of events) {
      const change = type === 'DELETED' ? this.#remove(objectKey(object)) : this.#keep(this.#transform(object));
      if (change) this.#tellAll(change);
    }
  }

  /** Stores the object; undefined when this very version is stored. */
  #keep(object: T): Change<T> | undefined {
    const old = this.#store.get(objectKey(object));
    if (old && isSameVersion(old, object)) return undefined;
    this.#store.set(this.#freeze ? deepFreeze(object) : object);
    return old ? { type: 'updated', next: object, old } : { type: 'added', next: object };
  }

  /** Undefined when it is not stored. */
  #remove(key: string): Change<T> | undefined {
    const old = this.#store.delete(key);
    return old && { type: 'deleted', old };
  }

  #tellAll(change: Change<T>): void {
    // A handler may remove others while it is told.
    for (const handler of [...this.#handlers]) if (this.#handlers.has(handler)) this.#tell(handler, change);
  }

  #tell(handler: InformerHandler<T>, change: Change<T>): void {
    try {
      if (change.type === 'added') handler.onAdd?.(change.next);
      else if (change.type === 'updated') handler.onUpdate?.(change.next, change.old);
      else handler.onDelete?.(change.old);
    } catch (err) {
      const key = objectKey(change.type === 'deleted' ? change.old : change.next);
      this.#logger.error({ informer: this.#name, handler: handler.name ?? 'unnamed', key, err }, 'handler failed');
    }
  }
}

function isSameVersion(a: ApiObject, b: ApiObject): boolean {
  return (
    a.metadata?.uid === b.metadata?.uid &&
    a.metadata?.resourceVersion !== undefined &&
    a.metadata.resourceVersion === b.metadata?.resourceVersion
  );
}
