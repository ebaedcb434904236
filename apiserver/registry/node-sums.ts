import type { Pod } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { type Amounts, podRequests } from '../../api/kinds/pod/resources.ts';
import type { Entry } from '../watch/entry.ts';
import type { CacheEvent } from '../watch/event-ring.ts';
import type { KindCache } from '../watch/kind-cache.ts';
import { namesNode } from '../watch/names-node.ts';
import { KeyedTurns } from './keyed-turns.ts';

/** What one pod takes from its node. */
interface Share {
  readonly node: string;
  readonly amounts: Amounts;
}

/** A pod that is being bound: counts until the cache shows how that ended. */
interface Reserved extends Share {
  /** Of the write that binds it; infinite while that is under way. */
  revision: number;
}

/** Ends a reservation with the outcome of its binding. A call that comes too late changes nothing. */
export interface Reservation {
  /** There is no binding. */
  cancel(): void;
  /** The binding is the write of this revision: the pod counts from the cache, once that shows it. */
  settle(revision: number): void;
}

/**
 * What the pods of each node ask for together, kept incrementally from the watch cache; a pod that is just being bound
 * counts from the moment it is reserved. Counts pods as the resource "pods".
 */
export class NodeSums {
  /** Bindings of one pod take turns, so that it is reserved on one node at a time. */
  readonly turns = new KeyedTurns();
  readonly #cache: KindCache;
  readonly #shares = new Map<string, Share>();
  readonly #sums = new Map<string, Amounts>();
  readonly #reserved = new Map<string, Set<Reserved>>();

  constructor(cache: KindCache) {
    this.#cache = cache;
  }

  /** Begins to follow the cache; the returned function ends it. */
  observe(): () => void {
    return this.#cache.observe({
      reset: (entries) => {
        this.#shares.clear();
        this.#sums.clear();
        for (const shares of this.#reserved.values()) for (const share of shares) this.#add(share, 1);
        for (const key of this.#reserved.keys()) this.#release(key, this.#cache.lastChange());
        for (const entry of entries) this.#cache.attempt(entry.key, () => this.#put(entry));
      },
      event: (event) => this.#apply(event),
    });
  }

  /** The requests on a node, without one pod. */
  without(node: string, key: string): Amounts {
    const sum = { ...this.#sums.get(node) };
    for (const share of [this.#shares.get(key), ...(this.#reserved.get(key) ?? [])]) {
      if (share?.node === node) addAmounts(sum, share.amounts, -1);
    }
    return sum;
  }

  /** Counts a pod that is about to be bound. */
  reserve(key: string, node: string, pod: Pod): Reservation {
    const share: Reserved = { node, amounts: amountsOf(pod), revision: Number.POSITIVE_INFINITY };
    const shares = this.#reserved.get(key);
    if (shares) shares.add(share);
    else this.#reserved.set(key, new Set([share]));
    this.#add(share, 1);
    return {
      cancel: () => this.#drop(key, share),
      settle: (revision) => {
        share.revision = revision;
        if (revision <= this.#cache.revision) this.#drop(key, share);
      },
    };
  }

  /** Ends the reservations of a pod whose bindings the cache shows, or what came after them. */
  #release(key: string, revision: number): void {
    for (const share of this.#reserved.get(key) ?? []) if (share.revision <= revision) this.#drop(key, share);
  }

  #drop(key: string, share: Reserved): void {
    const shares = this.#reserved.get(key);
    if (!shares?.delete(share)) return;
    if (shares.size === 0) this.#reserved.delete(key);
    this.#add(share, -1);
  }

  #apply({ type, entry, revision }: CacheEvent): void {
    this.#release(entry.key, revision);
    if (type === 'DELETED') this.#remove(entry.key);
    else this.#put(entry);
  }

  #put(entry: Entry): void {
    this.#remove(entry.key);
    if (!namesNode(entry.bytes)) return;
    const pod = this.#cache.decoder.decode(entry) as Pod;
    const node = pod.spec?.nodeName;
    if (!node) return;
    // The cache shows the binding now: the reservation has done its work, and another binding of this pod will be
    // refused.
    this.#release(entry.key, Number.POSITIVE_INFINITY);
    if (isFinished(pod)) return;
    const share = { node, amounts: amountsOf(pod) };
    this.#shares.set(entry.key, share);
    this.#add(share, 1);
  }

  #remove(key: string): void {
    const share = this.#shares.get(key);
    if (share) this.#add(share, -1);
    this.#shares.delete(key);
  }

  #add({ node, amounts }: Share, sign: 1 | -1): void {
    const sum = this.#sums.get(node) ?? {};
    addAmounts(sum, amounts, sign);
    if (sum.pods) this.#sums.set(node, sum);
    else this.#sums.delete(node);
  }
}

/** A pod's requests, counting itself as one of the resource "pods". */
export function amountsOf(pod: Pod): Amounts {
  return { ...podRequests(pod), pods: 1 };
}

function addAmounts(to: Amounts, more: Readonly<Amounts>, sign: 1 | -1): void {
  for (const name in more) to[name] = (to[name] ?? 0) + sign * more[name]!;
}
