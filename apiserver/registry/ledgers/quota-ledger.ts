import { decodeMessage } from '../../../api/codec/message.ts';
import { type ErrorSubject, objectForbidden } from '../../../api/errors/index.ts';
import type { Pod, ResourceQuota } from '../../../api/generated/types.ts';
import { keyPrefixOf, resourceOf } from '../../../api/kinds/identity.ts';
import { isKind } from '../../../api/kinds/index.ts';
import type { ApiObject, Kind } from '../../../api/kinds/kind.ts';
import { isChanging, isCounted } from '../../../api/kinds/resource-quota/quota-names.ts';
import { boundsKind, lacksOf, type QuotaRules, quotaRules } from '../../../api/kinds/resource-quota/quota-rules.ts';
import { type QuotaShare, quotaShare } from '../../../api/kinds/resource-quota/quota-share.ts';
import { equalValues } from '../../../api/meta/equal.ts';
import { type Entry, namespaceOf, placeOf } from '../../watch/entry.ts';
import type { CacheEvent } from '../../watch/event-ring.ts';
import type { KindCache } from '../../watch/kind-cache.ts';
import type { Demand, Ledger, Planned, PlannedWrite } from './ledger.ts';
import { NamespaceQuotas } from './namespace-quotas.ts';

/** A write that was submitted and does not show yet. */
interface Pending {
  readonly cache: KindCache;
  readonly bytes: Uint8Array;
  /** Known where the namespace has quotas. */
  share?: QuotaShare;
  /** Of the stored version; absent until the store has answered. */
  revision?: number;
}

/** Changes that make no object take more: an agent's report, a binding, a deletion. */
const SPARING = /-status$|^(bind|delete|finalize)$/;
const RESIZE = /-resize$/;

/**
 * Enforces ResourceQuotas, exactly: what each quota is used by is kept from the watch caches, and a write counts from
 * the turn in which it is submitted. Where a namespace has no quota, no share is worked out: only which writes are
 * under way is known, so that one that a new quota crosses counts against it.
 */
export class QuotaLedger implements Ledger {
  readonly #now: () => number;
  readonly #caches: KindCache[] = [];
  /** Those that have quotas. */
  readonly #namespaces = new Map<string, NamespaceQuotas>();
  readonly #pending = new Map<string, Set<Pending>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Begins to follow the cache of a kind; the returned function ends it. */
  observe(cache: KindCache): () => void {
    if (!isCounted(cache.kind)) return () => {};
    this.#caches.push(cache);
    const isQuota = isKind(cache.kind, 'ResourceQuota');
    const end = cache.observe({
      reset: (entries) => {
        this.#forgetStored(cache);
        if (isQuota) this.#resetQuotas(cache, entries);
        this.#resetShares(cache);
      },
      event: (event) => {
        this.#release(event.entry.key, event.revision);
        if (isQuota) this.#noteQuota(cache, event);
        this.#noteObject(cache, event);
      },
    });
    return () => {
      end();
      this.#caches.splice(this.#caches.indexOf(cache), 1);
    };
  }

  /** How much of a quota is in use, with what is being written; undefined when there is none of the name. */
  usedOf(namespace: string, quota: string): Readonly<Record<string, number>> | undefined {
    return this.#namespaces.get(namespace)?.usedOf(quota);
  }

  demandOf(kind: Kind, object: ApiObject, change?: string): Demand | undefined {
    if (!this.#namespaces.has(object.metadata?.namespace ?? '') || !takesMore(kind, change)) return undefined;
    return this.#weigh(kind, object);
  }

  check(write: PlannedWrite, { name = '' }: ErrorSubject, { kind }: KindCache): void {
    const quotas = this.#quotasOf(write.key);
    if (!quotas || !takesMore(kind, write.verb)) return;
    const { share, lacks } = this.#demand(write, kind);
    const saysWhat = write.verb === undefined || RESIZE.test(write.verb);
    const why = quotas.refusal(write.key, { share, ...(saysWhat && { lacks }) }, this.#now());
    if (why !== undefined) throw objectForbidden(resourceOf(kind), name, why);
  }

  reserve(write: PlannedWrite, cache: KindCache): Planned | undefined {
    if (!takesMore(cache.kind, write.verb)) return undefined;
    const { key, bytes } = write;
    const pending: Pending = { cache, bytes };
    if (this.#quotasOf(key)) pending.share = this.#demand(write, cache.kind).share;
    this.#recount(key, () => {
      const others = this.#pending.get(key);
      if (others) others.add(pending);
      else this.#pending.set(key, new Set([pending]));
    });
    return {
      cancel: () => this.#drop(key, pending),
      settle: (revision) => {
        pending.revision = revision;
        if (revision <= cache.revision) this.#drop(key, pending);
      },
    };
  }

  #demand({ bytes, demand }: PlannedWrite, kind: Kind): Demand {
    return demand ?? this.#weigh(kind, decodeMessage<ApiObject>(kind.message, bytes));
  }

  #weigh(kind: Kind, object: ApiObject): Demand {
    return { share: quotaShare(kind, object, this.#now()), lacks: isKind(kind, 'Pod') ? lacksOf(object as Pod) : {} };
  }

  #quotasOf(key: string): NamespaceQuotas | undefined {
    return this.#namespaces.size === 0 ? undefined : this.#namespaces.get(namespaceOf(key));
  }

  #recount(key: string, change: () => void): void {
    const quotas = this.#quotasOf(key);
    if (quotas) quotas.recount(key, change);
    else change();
  }

  /** The cache shows a version: the writes that are stored and not newer have been shown. */
  #release(key: string, revision: number): void {
    for (const each of this.#pending.get(key) ?? [])
      if (each.revision !== undefined && each.revision <= revision) this.#drop(key, each);
  }

  /** A cache that starts afresh shows what was stored. */
  #forgetStored(cache: KindCache): void {
    for (const [key, all] of this.#pending)
      for (const each of all) if (each.cache === cache && each.revision !== undefined) this.#drop(key, each);
  }

  #drop(key: string, pending: Pending): void {
    const all = this.#pending.get(key);
    if (!all?.has(pending)) return;
    this.#recount(key, () => {
      all.delete(pending);
      if (all.size === 0) this.#pending.delete(key);
    });
  }

  #resetQuotas(cache: KindCache, entries: Iterable<Entry>): void {
    this.#namespaces.clear();
    for (const entry of entries) cache.attempt(entry.key, () => this.#setQuota(cache, entry));
  }

  #noteQuota(cache: KindCache, { type, entry }: CacheEvent): void {
    if (type !== 'DELETED') {
      this.#setQuota(cache, entry);
      return;
    }
    const { namespace, name } = placeOf(entry.key);
    const quotas = this.#namespaces.get(namespace);
    quotas?.removeRules(name);
    if (quotas?.isEmpty) this.#namespaces.delete(namespace);
  }

  /** Enforces a quota from now on. A change of its status, of which there is one a second, costs a comparison. */
  #setQuota(cache: KindCache, entry: Entry): void {
    const namespace = namespaceOf(entry.key);
    const rules = quotaRules(cache.decoder.decode(entry) as ResourceQuota);
    const quotas = this.#namespaces.get(namespace) ?? new NamespaceQuotas((key) => this.#pendingShares(key));
    const known = quotas.rulesOf(rules.name);
    if (known && equalValues([known.hard, known.scopes], [rules.hard, rules.scopes])) return;
    this.#namespaces.set(namespace, quotas);
    const isNew = ({ kind }: KindCache) => boundsKind(rules, kind) && !quotas.follows(kind);
    for (const each of this.#caches.filter(isNew)) this.#showAll(quotas, each, namespace);
    quotas.setRules(rules, this.#pendingKeys(namespace, rules));
  }

  /** Shows what there is of a kind in a namespace. */
  #showAll(quotas: NamespaceQuotas, cache: KindCache, namespace: string): void {
    for (const entry of cache.range(`${keyPrefixOf(cache.kind)}${namespace}/`))
      cache.attempt(entry.key, () => quotas.show(entry.key, this.#shareOf(cache, entry)));
  }

  /** The keys of writes under way in a namespace; what they take is worked out where it was not known. */
  #pendingKeys(namespace: string, rules: QuotaRules): string[] {
    const keys: string[] = [];
    for (const [key, all] of this.#pending) {
      if (namespaceOf(key) !== namespace) continue;
      keys.push(key);
      for (const each of all) {
        const { kind } = each.cache;
        if (boundsKind(rules, kind)) each.share ??= this.#demand({ key, bytes: each.bytes }, kind).share;
      }
    }
    return keys;
  }

  #pendingShares(key: string): QuotaShare[] {
    const all = this.#pending.get(key);
    return all ? [...all].flatMap(({ share }) => share ?? []) : [];
  }

  #resetShares(cache: KindCache): void {
    const prefix = keyPrefixOf(cache.kind);
    for (const [namespace, quotas] of this.#namespaces) {
      if (!quotas.follows(cache.kind)) continue;
      for (const key of [...quotas.keys()]) if (key.startsWith(prefix)) quotas.show(key, undefined);
      this.#showAll(quotas, cache, namespace);
    }
  }

  #noteObject(cache: KindCache, { type, entry }: CacheEvent): void {
    const quotas = this.#quotasOf(entry.key);
    if (quotas?.follows(cache.kind)) quotas.show(entry.key, type === 'DELETED' ? undefined : this.#shareOf(cache, entry));
  }

  #shareOf({ kind, decoder }: KindCache, entry: Entry): QuotaShare {
    // Of most kinds an object is an object.
    if (roleOf(kind) !== 'changing') return quotaShare(kind, {}, 0);
    return quotaShare(kind, decoder.decode(entry), this.#now());
  }
}

/** Whether a create, or a change of that verb, may make what objects of the kind take more. */
function takesMore(kind: Kind, change: string | undefined): boolean {
  const role = roleOf(kind);
  return role !== 'uncounted' && (change === undefined || (role === 'changing' && !SPARING.test(change)));
}

type Role = 'uncounted' | 'counted' | 'changing';
const roles = new WeakMap<Kind, Role>();

/** Asked for each write. */
function roleOf(kind: Kind): Role {
  const known = roles.get(kind);
  if (known !== undefined) return known;
  const counted = isChanging(kind) ? 'changing' : 'counted';
  const role = isCounted(kind) ? counted : 'uncounted';
  roles.set(kind, role);
  return role;
}
