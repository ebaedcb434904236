import { isExpired } from '../../api/errors/index.ts';
import { keyPrefixOf } from '../../api/kinds/identity.ts';
import type { Storage } from '../storage/storage.ts';
import type { CacheObserver, KindCache } from '../watch/kind-cache.ts';
import { translated } from './storage-errors.ts';

/** Versions of a namespace are read so many at a time. */
const BATCH = 64;

/**
 * The revision at which each present namespace was created, so that reads of the past can stop there: what stood under
 * the same name before belonged to another tenant. Kept from the watch cache; for a namespace that is older than this
 * process it is read from the history once, and then remembered.
 */
export class NamespaceBirths implements CacheObserver {
  readonly #cache: KindCache;
  readonly #storage: Storage;
  /** By key. Only of namespaces that exist. */
  readonly #births = new Map<string, number>();

  constructor(cache: KindCache, storage: Storage) {
    this.#cache = cache;
    this.#storage = storage;
    cache.observe(this);
  }

  reset(): void {
    this.#births.clear();
  }

  event({ type, entry, revision }: Parameters<CacheObserver['event']>[0]): void {
    if (type === 'ADDED') this.#births.set(entry.key, revision);
    if (type === 'DELETED') this.#births.delete(entry.key);
  }

  /**
   * Infinity for a namespace that does not exist. Where the creation itself is no longer kept, nothing older than it is
   * either.
   */
  async of(namespace: string): Promise<number> {
    const key = `${keyPrefixOf(this.#cache.kind)}${namespace}`;
    const known = this.#births.get(key);
    if (known !== undefined) return known;
    const present = this.#cache.get(key);
    if (!present) return Number.POSITIVE_INFINITY;
    const birth = await this.#findBirth(key, present.revision);
    // Meanwhile it may have been deleted, and created anew.
    if (this.#cache.get(key) !== present) return this.of(namespace);
    this.#births.set(key, birth);
    return birth;
  }

  async #findBirth(key: string, present: number): Promise<number> {
    let birth = present;
    try {
      for (let from = {}; ; from = { before: birth }) {
        const { history } = this.#storage;
        const page = await translated({ kind: 'Namespace' }, history.writes(key, { ...from, limit: BATCH }));
        for (const { type, revision, previous } of page.writes) {
          if (type === 'delete') return birth;
          birth = revision;
          if (previous === 0) return birth;
        }
        if (!page.more) return birth;
      }
    } catch (error) {
      // Compacted meanwhile up to here.
      if (isExpired(error)) return birth;
      throw error;
    }
  }
}
