import { type ErrorSubject, permissionDenied } from '../../api/errors/index.ts';
import { keyPrefixOf } from '../../api/kinds/identity.ts';
import { namespaces } from '../../api/meta/well-known.ts';
import { namespaceOf } from '../watch/entry.ts';
import type { CacheEvent } from '../watch/event-ring.ts';
import type { KindCache } from '../watch/kind-cache.ts';
import { stampResourceVersion } from '../watch/stamp-resource-version.ts';
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

/** What objects take up: their bytes as they are served, and their keys. */
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
  private readonly held = new Map<string, Amount>();
  private readonly reserved = new Map<string, Set<Reserved>>();

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
      add(this.held, namespace, amount);
    };
    return cache.observe({
      reset: (entries) => {
        for (const [namespace, amount] of own) add(this.held, namespace, negative(amount));
        own.clear();
        this.forgetStored(keyPrefixOf(cache.kind));
        for (const { key, bytes } of entries) count(key, { bytes: key.length + bytes.length, objects: 1 });
      },
      event: (event) => {
        count(event.entry.key, changeOf(event));
        this.release(event.entry.key, event.revision);
      },
    });
  }

  /** What a namespace holds, with what is being written. */
  of(namespace: string): Readonly<Amount> {
    return this.held.get(namespace) ?? { bytes: 0, objects: 0 };
  }

  /** Namespaces with what they hold. */
  all(): Iterable<readonly [namespace: string, Readonly<Amount>]> {
    return this.held;
  }

  /** Throws PERMISSION_DENIED for a write that exceeds a limit, like Kubernetes for an exceeded quota. */
  check(write: PlannedWrite, subject: ErrorSubject): void {
    const namespace = namespaceOf(write.key);
    if (namespace === '' || UNBOUNDED.has(namespace)) return;
    const more = amountOf(write);
    const now = this.of(namespace);
    for (const what of ['objects', 'bytes'] as const) {
      const limit = this.limits[what];
      if (more[what] <= 0 || now[what] + more[what] <= limit || !grows(write)) continue;
      this.refused[what]++;
      throw permissionDenied(
        `${subject.kind ?? 'object'} "${subject.name ?? ''}" is forbidden: namespace "${namespace}" holds ${now[what]} ${what} and ` +
          `may hold ${limit} (berth server --namespace-${what}); this takes ${more[what]} more: delete objects, or raise the limit`,
      );
    }
  }

  /** Counts a write from now on. */
  reserve(write: PlannedWrite, cache: KindCache): Planned | undefined {
    const { key } = write;
    const namespace = namespaceOf(key);
    const amount = amountOf(write);
    if (namespace === '' || (amount.bytes <= 0 && amount.objects <= 0)) return undefined;
    const reserved: Reserved = { base: write.replaces?.revision ?? 0, amount, stored: false };
    const others = this.reserved.get(key);
    if (others) others.add(reserved);
    else this.reserved.set(key, new Set([reserved]));
    add(this.held, namespace, amount);
    return {
      cancel: () => this.drop(key, reserved),
      settle: (revision) => {
        reserved.stored = true;
        if (revision <= cache.revision) this.drop(key, reserved);
      },
    };
  }

  /** The cache shows a newer version: the writes that started from an older one are it, or will be refused. */
  private release(key: string, revision: number): void {
    for (const each of this.reserved.get(key) ?? []) if (each.base < revision) this.drop(key, each);
  }

  /** A cache that starts afresh shows what was stored. */
  private forgetStored(prefix: string): void {
    for (const [key, all] of this.reserved) {
      if (!key.startsWith(prefix)) continue;
      for (const each of all) if (each.stored) this.drop(key, each);
    }
  }

  private drop(key: string, reserved: Reserved): void {
    const all = this.reserved.get(key);
    if (!all?.delete(reserved)) return;
    if (all.size === 0) this.reserved.delete(key);
    add(this.held, namespaceOf(key), negative(reserved.amount));
  }
}

function amountOf({ key, bytes, replaces }: PlannedWrite): Amount {
  // What is replaced may be stamped with its version, or not.
  if (replaces) return { bytes: bytes.length + VERSION_BYTES - replaces.bytes.length, objects: 0 };
  return { bytes: key.length + bytes.length + VERSION_BYTES, objects: 1 };
}

/** Whether an object becomes larger, to the byte. */
function grows({ bytes, replaces }: PlannedWrite): boolean {
  if (!replaces) return true;
  const version = String(replaces.revision);
  return stampResourceVersion(bytes, version).length > stampResourceVersion(replaces.bytes, version).length;
}

function changeOf({ type, entry, previous }: CacheEvent): Amount {
  const before = previous ? entry.key.length + previous.bytes.length : 0;
  const after = type === 'DELETED' ? 0 : entry.key.length + entry.bytes.length;
  return { bytes: after - before, objects: Number(type !== 'DELETED') - Number(previous !== undefined) };
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
