import { resourceOf } from '../../api/kinds/identity.ts';
import type { KindCache } from './kind-cache.ts';

/**
 * The caches of all kinds, by the resource that the keys of their objects begin with. Kinds may come while the feed
 * runs (`feedKind`).
 */
export class KindCaches implements Iterable<KindCache> {
  readonly #byResource = new Map<string, KindCache>();
  #loading: Promise<void> | undefined;

  constructor(caches: Iterable<KindCache> = []) {
    for (const cache of caches) this.add(cache);
  }

  [Symbol.iterator](): Iterator<KindCache> {
    return this.#byResource.values();
  }

  /** The cache that a key belongs to; undefined for keys of no kind that is served. */
  of(key: string): KindCache | undefined {
    return this.#byResource.get(key.slice(0, key.indexOf('/')));
  }

  /** Throws RangeError for a resource that is there already. */
  add(cache: KindCache): void {
    const resource = resourceOf(cache.kind);
    if (this.#byResource.has(resource)) throw new RangeError(`add a cache of ${resource}: there is one`);
    this.#byResource.set(resource, cache);
  }

  /** Feeds a cache no more; its watches are expired. */
  remove(cache: KindCache): void {
    if (this.#byResource.get(resourceOf(cache.kind)) !== cache) return;
    this.#byResource.delete(resourceOf(cache.kind));
    cache.reset([], cache.revision);
  }

  /** What loads caches at the moment: nothing is applied to any of them before it resolves. Never rejects. */
  get loading(): Promise<void> | undefined {
    return this.#loading;
  }

  /** Loads caches in turn: of two loads the second begins when the first has ended. */
  load<T>(run: () => Promise<T>): Promise<T> {
    const done = (this.#loading ?? Promise.resolve()).then(run);
    const settled: Promise<void> = done.then(ignore, ignore).then(() => {
      if (this.#loading === settled) this.#loading = undefined;
    });
    this.#loading = settled;
    return done;
  }
}

const ignore = (): void => undefined;
