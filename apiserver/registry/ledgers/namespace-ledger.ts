import { type ErrorSubject, objectForbidden } from '../../../api/errors/index.ts';
import { keyPrefixOf, resourceOf } from '../../../api/kinds/identity.ts';
import type { Kind } from '../../../api/kinds/kind.ts';
import { namespaces } from '../../../api/meta/well-known.ts';
import { elementsOf, namespaceOf } from '../../watch/entry.ts';
import type { CacheEvent } from '../../watch/event-ring.ts';
import type { KindCache } from '../../watch/kind-cache.ts';
import { stampResourceVersion } from '../../watch/stamp-resource-version.ts';
import type { Ledger, Planned, PlannedWrite } from './ledger.ts';

/** What the objects of one namespace may take up together. */
export interface NamespaceLimits {
  readonly bytes: number;
  readonly objects: number;
}

/**
 * A quarter of the store's 4 GiB (storage/lmdb/limits.ts). So many small objects take some 250 MB of the server's
 * memory.
 */
export const defaultNamespaceLimits: NamespaceLimits = { bytes: 1024 ** 3, objects: 250_000 };

/** The system's own, where a refusal would stop the cluster; tenants have no rights there. */
const UNBOUNDED: ReadonlySet<string> = new Set([namespaces.system, namespaces.nodeLease]);
/** The resourceVersion that an object gets when it is stored, at most. */
const VERSION_BYTES = 24;

/**
 * What an element of an object (see countElements) counts as, in bytes, so that what is stored compactly and takes many
 * times its bytes where it is decoded cannot fill the memory: some 100 bytes in each process that reads the object.
 */
const ELEMENT_BYTES = 256;
/** Every object has some elements, in its metadata. The limit of objects bounds these. */
const FREE_ELEMENTS = 10;

/** What objects take up: their bytes as they are served, or what their elements count if that is more; their keys. */
export interface Amount {
  bytes: number;
  objects: number;
}

interface Reserved {
  readonly base: number;
  readonly amount: Amount;
  stored: boolean;
}

/**
 * What each namespace holds, of all kinds together, kept incrementally from the watch caches. A write counts from the
 * moment it is planned, so that writes at once do not exceed a limit together. Cluster-scoped objects belong to no
 * tenant and are not counted.
 */
export class NamespaceLedger implements Ledger {
  readonly limits: NamespaceLimits;
  /** Writes that were refused, by the limit. */
  readonly refused: Amount = { bytes: 0, objects: 0 };
  readonly #held = new Map<string, Amount>();
  readonly #reserved = new Map<string, Set<Reserved>>();

  constructor(limits: Partial<NamespaceLimits> = {}) {
    this.limits = { ...defaultNamespaceLimits, ...limits };
  }

  /** Begins to follow the cache of a kind; the returned function ends it. */
  observe(cache: KindCache): () => void {
    if (!cache.kind.namespaced) return () => {};
    /** Of this kind alone: what is taken back when its cache starts afresh. */
    const own = new Map<string, Amount>();
    const count = (key: string, amount: Amount): void => {
      const namespace = namespaceOf(key);
      add(own, namespace, amount);
      add(this.#held, namespace, amount);
    };
    return cache.observe({
      reset: (entries) => {
        for (const [namespace, amount] of own) add(this.#held, namespace, negative(amount));
        own.clear();
        this.#forgetStored(keyPrefixOf(cache.kind));
        for (const entry of entries) count(entry.key, { bytes: sizeOf(entry.key, entry, cache.kind), objects: 1 });
      },
      event: (event) => {
        count(event.entry.key, changeOf(event, cache.kind));
        this.#release(event.entry.key, event.revision);
      },
    });
  }

  /** What a namespace holds, with what is being written. */
  of(namespace: string): Readonly<Amount> {
    return this.#held.get(namespace) ?? { bytes: 0, objects: 0 };
  }

  /** Namespaces with what they hold. */
  all(): Iterable<readonly [namespace: string, Readonly<Amount>]> {
    return this.#held;
  }

  /** Throws PERMISSION_DENIED for a write that exceeds a limit, like Kubernetes for an exceeded quota. */
  check(write: PlannedWrite, { name = '' }: ErrorSubject, { kind }: KindCache): void {
    const namespace = namespaceOf(write.key);
    if (namespace === '' || UNBOUNDED.has(namespace)) return;
    const more = amountOf(write, kind);
    const now = this.of(namespace);
    for (const what of ['objects', 'bytes'] as const) {
      const limit = this.limits[what];
      if (more[what] <= 0 || now[what] + more[what] <= limit || !grows(write, kind)) continue;
      this.refused[what]++;
      const why =
        `namespace "${namespace}" holds ${now[what]} ${what} and may hold ${limit} ` +
        `(berth server --namespace-${what}); this takes ${more[what]} more: delete objects, or raise the limit`;
      throw objectForbidden(resourceOf(kind), name, why);
    }
  }

  /** Counts a write from now on. */
  reserve(write: PlannedWrite, cache: KindCache): Planned | undefined {
    const { key } = write;
    const namespace = namespaceOf(key);
    const amount = amountOf(write, cache.kind);
    if (namespace === '' || (amount.bytes <= 0 && amount.objects <= 0)) return undefined;
    const reserved: Reserved = { base: write.replaces?.revision ?? 0, amount, stored: false };
    const others = this.#reserved.get(key);
    if (others) others.add(reserved);
    else this.#reserved.set(key, new Set([reserved]));
    add(this.#held, namespace, amount);
    return {
      cancel: () => this.#drop(key, reserved),
      settle: (revision) => {
        reserved.stored = true;
        if (revision <= cache.revision) this.#drop(key, reserved);
      },
    };
  }

  /** The cache shows a newer version: the writes that started from an older one are it, or will be refused. */
  #release(key: string, revision: number): void {
    for (const each of this.#reserved.get(key) ?? []) if (each.base < revision) this.#drop(key, each);
  }

  /** A cache that starts afresh shows what was stored. */
  #forgetStored(prefix: string): void {
    for (const [key, all] of this.#reserved) {
      if (!key.startsWith(prefix)) continue;
      for (const each of all) if (each.stored) this.#drop(key, each);
    }
  }

  #drop(key: string, reserved: Reserved): void {
    const all = this.#reserved.get(key);
    if (!all?.delete(reserved)) return;
    if (all.size === 0) this.#reserved.delete(key);
    add(this.#held, namespaceOf(key), negative(reserved.amount));
  }
}

function amountOf(write: PlannedWrite, kind: Kind): Amount {
  const { key, replaces } = write;
  const after = sizeOf(key, write, kind, VERSION_BYTES);
  // What is replaced may be stamped with its version, or not.
  return replaces ? { bytes: after - sizeOf(key, replaces, kind), objects: 0 } : { bytes: after, objects: 1 };
}

/** Whether an object becomes larger, to the byte or the element. */
function grows(write: PlannedWrite, kind: Kind): boolean {
  const { bytes, replaces } = write;
  if (!replaces || elementsOf(write, kind) > elementsOf(replaces, kind)) return true;
  const version = String(replaces.revision);
  return stampResourceVersion(bytes, version).length > stampResourceVersion(replaces.bytes, version).length;
}

function changeOf({ type, entry, previous }: CacheEvent, kind: Kind): Amount {
  const before = previous ? sizeOf(entry.key, previous, kind) : 0;
  const after = type === 'DELETED' ? 0 : sizeOf(entry.key, entry, kind);
  return { bytes: after - before, objects: Number(type !== 'DELETED') - Number(previous !== undefined) };
}

/** What a version of an object counts as, in bytes; `more`: bytes that it will have besides. */
function sizeOf(key: string, version: Parameters<typeof elementsOf>[0], kind: Kind, more = 0): number {
  return key.length + Math.max(version.bytes.length + more, ELEMENT_BYTES * (elementsOf(version, kind) - FREE_ELEMENTS));
}

const negative = ({ bytes, objects }: Amount): Amount => ({ bytes: -bytes, objects: -objects });

function add(to: Map<string, Amount>, namespace: string, { bytes, objects }: Amount): void {
  const sum = to.get(namespace);
  if (!sum) {
    if (bytes !== 0 || objects !== 0) to.set(namespace, { bytes, objects });
    return;
  }
  sum.bytes += bytes;
  sum.objects += objects;
  if (sum.bytes === 0 && sum.objects === 0) to.delete(namespace);
}
