import { conflict } from '../../api/errors/index.ts';
import type { Lease } from '../../api/generated/types.ts';
import { keyPrefixOf } from '../../api/kinds/identity.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { LeaseTerm } from '../../api/meta/lease-term.ts';
import type { KindCaches } from '../watch/kind-caches.ts';

/** A Lease as readers are shown it; undefined where there is none. */
export type FindLease = (at: Pick<LeaseTerm, 'namespace' | 'name'>) => Lease | undefined;

const nameOf = ({ namespace, name }: Pick<LeaseTerm, 'namespace' | 'name'>): string => `${namespace}/${name}`;

/**
 * Refuses writes of leaders whose term is over. A Lease that changes hands has no holder from the moment its write
 * is submitted: revisions are given in the order of submission, so every write of the old leader that was let in has a
 * lower revision than the change, and a new leader that lists after it holds the Lease sees them all.
 *
 *     held by A --change to B submitted--> changing --change shown to readers--> held by B
 *                                             | change failed
 *                                             v
 *                                         held by A
 */
export class LeaseTerms {
  readonly #find: FindLease;
  /** The Leases that are changing hands, with how many writes of that are under way. */
  readonly #changing = new Map<string, number>();

  constructor(find: FindLease) {
    this.#find = find;
  }

  /** Called before a write that changes a Lease's holder is submitted; the returned function ends it, either way. */
  changing(at: Pick<LeaseTerm, 'namespace' | 'name'>): () => void {
    const name = nameOf(at);
    this.#changing.set(name, (this.#changing.get(name) ?? 0) + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const left = this.#changing.get(name)! - 1;
      if (left > 0) this.#changing.set(name, left);
      else this.#changing.delete(name);
    };
  }

  /** Throws ABORTED for a term that is over. Must be called in the same turn in which the write is submitted. */
  check(term: LeaseTerm): void {
    const lease = this.#changing.has(nameOf(term)) ? undefined : this.#find(term);
    const { holderIdentity, leaseTransitions = 0 } = lease?.spec ?? {};
    if (holderIdentity === term.holder && leaseTransitions === term.transitions) return;
    // Names no other holder: a caller may not be allowed to read the Lease.
    throw conflict(
      { kind: 'Lease', namespace: term.namespace, name: term.name },
      `"${term.holder}" does not hold it as of transition ${term.transitions} any more: stop leading, and try for a term anew`,
    );
  }
}

/** Leases as the watch cache shows them. */
export function findLease(caches: KindCaches): FindLease {
  const prefix = keyPrefixOf(kindNamed('Lease'));
  return (at) => {
    const key = `${prefix}${nameOf(at)}`;
    const cache = caches.of(key);
    const entry = cache?.get(key);
    return entry && (cache!.decoder.decode(entry) as Lease);
  };
}
