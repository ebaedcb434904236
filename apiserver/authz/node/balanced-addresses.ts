import type { Service } from '../../../api/generated/types.ts';
import { isKind } from '../../../api/kinds/index.ts';
import { isBalancedHere } from '../../../api/meta/load-balancers.ts';
import type { Entry } from '../../watch/entry.ts';
import type { KindCache } from '../../watch/kind-cache.ts';

/**
 * Which addresses Services of type LoadBalancer (of Berth's class) have by their status, kept from the watch cache:
 * nodes may announce these and no others.
 */
export class BalancedAddresses {
  readonly #cache: KindCache | undefined;
  /** Of each Service that has some, by key. */
  readonly #addressesOf = new Map<string, readonly string[]>();
  /** How many Services have an address. */
  readonly #counts = new Map<string, number>();

  constructor(cache: KindCache | undefined) {
    this.#cache = cache;
  }

  /** Begins to follow the cache; the returned function ends it. */
  observe(): () => void {
    const cache = this.#cache;
    if (!cache || !isKind(cache.kind, 'Service')) return () => {};
    return cache.observe({
      reset: (entries) => {
        this.#addressesOf.clear();
        this.#counts.clear();
        for (const entry of entries) cache.attempt(entry.key, () => this.#put(cache, entry));
      },
      event: ({ type, entry }) => {
        this.#remove(entry.key);
        if (type !== 'DELETED') this.#put(cache, entry);
      },
    });
  }

  has(address: string): boolean {
    return this.#counts.has(address);
  }

  #put(cache: KindCache, entry: Entry): void {
    const service = cache.decoder.decode(entry) as Service;
    if (!isBalancedHere(service)) return;
    const addresses = (service.status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => (ip ? [ip] : []));
    if (addresses.length === 0) return;
    this.#addressesOf.set(entry.key, addresses);
    for (const each of addresses) this.#counts.set(each, (this.#counts.get(each) ?? 0) + 1);
  }

  #remove(key: string): void {
    for (const each of this.#addressesOf.get(key) ?? []) {
      const count = this.#counts.get(each) ?? 0;
      if (count > 1) this.#counts.set(each, count - 1);
      else this.#counts.delete(each);
    }
    this.#addressesOf.delete(key);
  }
}
