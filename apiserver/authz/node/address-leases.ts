import type { Lease } from '../../../api/generated/types.ts';
import { isKind } from '../../../api/kinds/index.ts';
import { addressOfLease } from '../../../api/meta/load-balancers.ts';
import { toMillis } from '../../../api/meta/time.ts';
import { namespaces } from '../../../api/meta/well-known.ts';
import { type Entry, placeOf } from '../../watch/entry.ts';
import type { KindCache } from '../../watch/kind-cache.ts';

interface Shown {
  readonly revision: number;
  /** Of this server's monotonic clock. */
  readonly at: number;
}

/**
 * Since when the Leases of load balancers' addresses are as they are, by this server's own clock: what a Lease says of
 * its renewal is its holder's word. Kept from the watch cache, one number for each address.
 */
export class AddressLeases {
  readonly #cache: KindCache | undefined;
  readonly #now: () => number;
  readonly #shown = new Map<string, Shown>();

  constructor(cache: KindCache | undefined, now: () => number = () => performance.now()) {
    this.#cache = cache;
    this.#now = now;
  }

  /** Begins to follow the cache; the returned function ends it. */
  observe(): () => void {
    const cache = this.#cache;
    if (!cache || !isKind(cache.kind, 'Lease')) return () => {};
    return cache.observe({
      reset: (entries) => {
        const before = new Map(this.#shown);
        this.#shown.clear();
        for (const entry of entries) cache.attempt(entry.key, () => this.#load(cache, entry, before));
      },
      event: ({ type, entry }) => {
        const name = nameOf(entry);
        if (name === undefined) return;
        if (type === 'DELETED') this.#shown.delete(name);
        else this.#shown.set(name, { revision: entry.revision, at: this.#now() });
      },
    });
  }

  /** So long nothing was written to it; 0 for one that is not shown. */
  quietMs(name: string): number {
    const shown = this.#shown.get(name);
    return shown === undefined ? 0 : this.#now() - shown.at;
  }

  /** When the server begins it knows only what Leases say: a renewal in the future was just now at the latest. */
  #load({ decoder }: KindCache, entry: Entry, before: ReadonlyMap<string, Shown>): void {
    const name = nameOf(entry);
    if (name === undefined) return;
    const known = before.get(name);
    const { renewTime } = (decoder.decode(entry) as Lease).spec ?? {};
    const age = renewTime ? Math.max(0, Date.now() - toMillis(renewTime)) : 0;
    const { revision } = entry;
    this.#shown.set(name, known?.revision === revision ? known : { revision, at: this.#now() - age });
  }
}

/** Undefined for other Leases. */
function nameOf({ key }: Entry): string | undefined {
  const { namespace, name } = placeOf(key);
  return namespace === namespaces.system && addressOfLease(name) !== undefined ? name : undefined;
}
