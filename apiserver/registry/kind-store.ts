import { storeQuantities } from '../../api/codec/canonical.ts';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import { alreadyExists, type ErrorSubject, notFound, outdated } from '../../api/errors/index.ts';
import type { ObjectMeta } from '../../api/generated/types.ts';
import { groupOf, keyPrefixOf } from '../../api/kinds/identity.ts';
import { kindId } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { secondsTimestamp } from '../../api/meta/time.ts';
import type { DynamicAdmission } from '../admission/dynamic.ts';
import type { Allocator } from '../allocation/allocator.ts';
import type { Storage, StoredObject } from '../storage/storage.ts';
import { StorageError, type StorageErrorCode } from '../storage/storage-error.ts';
import { type Entry, servedOnce } from '../watch/entry.ts';
import type { KindCache } from '../watch/kind-cache.ts';
import { stampResourceVersion, withoutResourceVersion } from '../watch/stamp-resource-version.ts';
import { judgeChange } from './admit.ts';
import type { AnyObject } from './any-object.ts';
import { entriesAfter, keepManagers } from './apply/managed-fields.ts';
import { checkObjectBounds, checkObjectCount } from './kind-bounds.ts';
import { turnOfLarge } from './large-turns.ts';
import { type Demand, type Planned, type PlannedWrite, reserveFor, settlingBoth } from './ledgers/ledger.ts';
import { isAnotherWish, isFinished, type Origin } from './metadata.ts';
import { RepeatedSpecs } from './repeated-specs.ts';
import { checkStorable, shown, tooManyOthers, translated, translateStorageError } from './storage-errors.ts';
import type { StoreEnvironment } from './store-environment.ts';
import {
  type NewObject,
  type NextVersion,
  type ObjectName,
  type OwnWrite,
  POSSIBLE_NAME,
  UNBOUNDED_VERBS,
  URGENT_VERBS,
  type Versions,
  WISHLESS_VERBS,
} from './store-values.ts';
import { type StoredVersions, shownBytes } from './stored-versions.ts';
import { type ChangeOptions, type Current, checkWriter, type WriteContext } from './write-context.ts';
import { WriteQueue } from './write-queue.ts';

export type { ObjectName } from './store-values.ts';

/**
 * How often a write is tried again because another one was faster. Changes of one object queue, so that only creations
 * and deletions outrun them.
 */
const MAX_ATTEMPTS = 20;
/** A write is refused with these because of another one. */
const OUTRUN: ReadonlySet<StorageErrorCode> = new Set(['exists', 'mismatch', 'not-found']);
/** Writes of this size, which replace one another, cannot fill the reserve for a full disk. */
const SMALL_BYTES = 4096;
/** How long a read waits for the watch cache to show the last acknowledged write. */
const FRESH_TIMEOUT_MS = 5_000;

/**
 * The stored objects of one kind: reads from the watch cache, never older than the last acknowledged write, and writes
 * with compare-and-swap. The steps of each verb stand in create.ts, update.ts, patch.ts and delete.ts; this is what
 * they share.
 */
export class KindStore {
  readonly kind: Kind;
  /** Another version that is read and written instead: see store-version.ts. */
  readonly served?: Kind;
  /** The kind in the server's words: see `kindId`. */
  readonly id: string;
  readonly keyPrefix: string;
  /** What roles call it. */
  readonly resource: { readonly group: string; readonly resource: string };
  readonly cache: KindCache;
  readonly specs: RepeatedSpecs | undefined;
  private readonly environment: StoreEnvironment;
  private readonly allocator: Allocator | undefined;
  private readonly writers = new WriteQueue();
  /** How objects are stored whose definition has several versions; absent: all are in one. */
  readonly versions: { of?: StoredVersions } = {};
  /** In one object, which the versions of a kind share: see store-version.ts. */
  private readonly acknowledged = { revision: 0 };

  constructor(cache: KindCache, environment: StoreEnvironment) {
    this.kind = cache.kind;
    this.id = kindId(this.kind);
    this.keyPrefix = keyPrefixOf(this.kind);
    this.resource = { group: groupOf(this.kind.apiVersion), resource: this.kind.plural };
    this.cache = cache;
    this.specs = this.kind.repeats && new RepeatedSpecs(this.kind, this.kind.repeats);
    this.environment = environment;
    this.allocator = environment.allocator?.allots(this.kind) ? environment.allocator : undefined;
  }

  /** What requests ask rights for: the kind, and the group of their version where that is another than the kind's. */
  get asked(): { readonly kind: string; readonly group?: string } {
    const group = this.served && groupOf(this.served.apiVersion);
    return group === undefined || group === this.resource.group ? { kind: this.id } : { kind: this.id, group };
  }

  get storage(): Storage {
    return this.environment.storage;
  }

  /** The rules that users added; undefined where there can be none. */
  get dynamic(): DynamicAdmission | undefined {
    return this.environment.dynamic;
  }

  origin(): Origin {
    return { now: this.environment.now(), random: this.environment.random, uid: this.environment.uid };
  }

  key({ namespace, name }: ObjectName): string {
    return this.kind.namespaced ? `${this.keyPrefix}${namespace}/${name}` : `${this.keyPrefix}${name}`;
  }

  subject({ namespace, name }: ObjectName): ErrorSubject {
    return { kind: this.kind.kind, name, ...(namespace ? { namespace } : {}), ...this.resource };
  }

  /**
   * Resolves once the cache shows every write that this server has acknowledged; undefined when it does already, which
   * is nearly always, so that what every call passes need not wait. Throws UNAVAILABLE when the feed hangs.
   */
  fresh(): Promise<void> | undefined {
    const { revision } = this.acknowledged;
    return this.cache.revision >= revision ? undefined : shown(this.kind, this.cache.reached(revision, FRESH_TIMEOUT_MS));
  }

  /** The newest version, or undefined. */
  async read(at: ObjectName): Promise<Entry | undefined> {
    const behind = this.fresh();
    if (behind) await behind;
    return this.cache.get(this.key(at));
  }

  /** A version to start a change from. The first time it may be the cache's, which may be old: see `newest`. */
  async current(at: ObjectName, again: boolean): Promise<Current> {
    if (!this.mayExist(at)) throw notFound(this.subject(at));
    const found = again ? await this.newest(at) : (this.cache.get(this.key(at)) ?? (await this.onDisk(at)));
    if (!found) throw notFound(this.subject(at));
    return found;
  }

  /**
   * The stored version, once readers are shown it too: the write that made it may still be on its way to the disk, and
   * a refusal must not rest on what a crash can undo. A key that the store does not hold any more is judged by what
   * readers are shown, for the same reason.
   */
  private async newest(at: ObjectName): Promise<Current | undefined> {
    const stored = await this.onDisk(at);
    if (!stored) return this.read(at);
    await shown(this.kind, this.cache.reached(stored.revision, FRESH_TIMEOUT_MS));
    return stored;
  }

  /** Whether a refusal that was computed on this version could be wrong, because the store holds another one. */
  private async isOutdated(at: ObjectName, current: Current): Promise<boolean> {
    return (await this.newest(at))?.revision !== current.revision;
  }

  /** What is on the disk; the cache may not show it yet. */
  private onDisk(at: ObjectName): Promise<StoredObject | undefined> {
    return translated(this.subject(at), this.storage.get(this.key(at)));
  }

  /** Whether something can be stored under this name at all. */
  mayExist({ namespace, name }: ObjectName): boolean {
    return POSSIBLE_NAME.test(name) && (!this.kind.namespaced || POSSIBLE_NAME.test(namespace));
  }

  /** The version as an object that the caller may change, without its resourceVersion. */
  decode(current: Current): AnyObject {
    const object = decodeMessage<AnyObject>(this.kind.message, current.bytes);
    // Earlier versions stored quantities as they were sent, which would count as changed.
    storeQuantities(this.kind.message, object);
    if (object.metadata) delete object.metadata.resourceVersion;
    return object;
  }

  encode(object: AnyObject): Buffer {
    return encodeMessage(this.kind.message, object);
  }

  /** As it is stored. Only an object that a webhook converts has to be waited for. */
  stored(object: AnyObject, replaces?: Uint8Array): Buffer | Promise<Buffer> {
    return this.versions.of?.stored(this.encode(object), this.kind, replaces) ?? this.encode(object);
  }

  /** Completes a version by what no two objects may have: see Allocator. The caller cancels what it gets in the end. */
  allot(at: ObjectName, next: AnyObject, dryRun: boolean, previous?: AnyObject): Planned | undefined {
    return this.allocator?.allot({ key: this.key(at), subject: this.subject(at), next, previous, dryRun });
  }

  /** What a new object asks of the bounds of its namespace, for `insert`; undefined where there are none. */
  demandOf(object: AnyObject): Demand | undefined {
    return this.environment.ledger?.demandOf?.(this.kind, object);
  }

  /**
   * What `insert` would give for a new object if there was none of its name. Throws as it does where there is no room
   * for one.
   */
  imagine({ at, bytes, demand }: NewObject, context: WriteContext): Buffer {
    checkObjectCount(this.kind, this.cache);
    this.environment.ledger?.check({ key: this.key(at), bytes, demand }, this.subject(at), this.cache);
    const write = this.write(at, bytes, context, 'create');
    checkStorable(this.subject(at), this.key(at), write);
    return Buffer.from(write.bytes);
  }

  /** Stores a new object. Throws ALREADY_EXISTS. */
  async insert(object: NewObject, context: WriteContext): Promise<Buffer> {
    const { at, bytes, elements, demand, allotted } = object;
    if (context.dryRun) {
      const imagined = this.imagine(object, context);
      if (await this.onDisk(at)) throw alreadyExists(this.subject(at));
      return imagined;
    }
    const usual = this.write(at, bytes, context, 'create');
    const write = object.awaitsDisk ? { ...usual, awaitsDisk: true } : usual;
    const planned: PlannedWrite = { key: this.key(at), bytes, elements, demand };
    const { ledger, terms } = this.environment;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      checkObjectCount(this.kind, this.cache);
      ledger?.check(planned, this.subject(at), this.cache);
      checkWriter(context, terms);
      const store = () => this.storage.create(planned.key, write);
      const done = await this.attempt(at, store, write, settlingBoth(allotted, reserveFor(write, ledger, planned, this.cache)));
      if (done) return done;
      if (await this.onDisk(at)) throw alreadyExists(this.subject(at));
    }
    throw tooManyOthers(this.subject(at));
  }

  /**
   * Changes an object, in its turn among the writers of it: computes the next version from the current one and stores
   * it, unless another write was faster, else begins again; a caller that names a resourceVersion gets ABORTED instead.
   * An equal version writes nothing; one that nothing keeps is removed. Throws CANCELLED when the caller has gone
   * before the write began.
   */
  async change(at: ObjectName, options: ChangeOptions): Promise<Buffer> {
    const { context } = options;
    const mayWait = (context.admitted && this.dynamic?.mayWait(this.kind)) || this.versions.of?.mayWait;
    if (context.dryRun || mayWait) return this.repeatChange(at, options, false);
    const key = this.key(at);
    const turn = this.writers.enter(key, context);
    if (turn) await turn;
    try {
      return await this.repeatChange(at, options, turn !== undefined);
    } finally {
      this.writers.leave(key);
    }
  }

  /** `again`: there was a write a moment ago, which the cache may not show yet. */
  private async repeatChange(at: ObjectName, options: ChangeOptions, again: boolean): Promise<Buffer> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const done = await this.tryChange(at, options, again || attempt > 0);
      if (done) return done;
    }
    throw tooManyOthers(this.subject(at));
  }

  /** Undefined when the version that it started from is not the newest, and that matters. */
  private async tryChange(at: ObjectName, options: ChangeOptions, again: boolean): Promise<Buffer | undefined> {
    const turn = turnOfLarge(this.cache.get(this.key(at))?.bytes.length);
    if (turn) await turn;
    const current = await this.current(at, again);
    const bytes = this.versions.of?.mayWait ? await shownBytes(this, current.bytes, this.key(at)) : current.bytes;
    const previous = this.decode({ ...current, bytes });
    let next: AnyObject | 'remove';
    let allotted: Planned | undefined;
    try {
      next = await judgeChange(this, at, { current, previous }, options);
      if (next !== 'remove') allotted = this.allot(at, next, options.context.dryRun, previous);
    } catch (error) {
      if (!again && (await this.isOutdated(at, current))) return undefined;
      throw error;
    }
    if (next === 'remove') return this.tryRemove(at, current, current.bytes, options.context);
    try {
      return await this.tryStore(at, { current, previous, next, allotted, again }, options);
    } finally {
      allotted?.cancel();
    }
  }

  /** Undefined as of tryChange. */
  private async tryStore(
    at: ObjectName,
    { current, previous, next, allotted, again }: NextVersion,
    options: ChangeOptions,
  ): Promise<Buffer | undefined> {
    if (!options.setsManagers) keepManagers(next, previous);
    if (isFinished(this.kind, next)) return this.tryRemove(at, current, await this.stored(next, current.bytes), options.context);
    if (equalValues(next, previous) && !this.versions.of?.isStale(current.bytes)) {
      const confirmed = await this.confirm(at, current, again);
      if (confirmed) options.context.audited?.unchanged();
      return confirmed;
    }
    this.stamp(next, previous, options);
    const encoded = this.stored(next, current.bytes);
    const bytes = encoded instanceof Promise ? await encoded : encoded;
    const write = this.changing(at, { current, previous, next, bytes }, options);
    const { verb } = options;
    const { ledger } = this.environment;
    const demand = ledger?.demandOf?.(this.kind, next, verb);
    const planned: PlannedWrite = { key: this.key(at), bytes: write.bytes, replaces: current, verb, demand };
    if (!options.context.exceedsLimits && !UNBOUNDED_VERBS.has(verb)) ledger?.check(planned, this.subject(at), this.cache);
    if (options.context.dryRun) {
      checkStorable(this.subject(at), this.key(at), write);
      return stampResourceVersion(write.bytes, String(current.revision));
    }
    checkWriter(options.context, this.environment.terms);
    const store = () => this.storage.update(planned.key, current.revision, write);
    return this.attempt(at, store, write, settlingBoth(allotted, reserveFor(write, ledger, planned, this.cache)));
  }

  /** Throws ABORTED when a change names another version than the current one. */
  checkVersion(at: ObjectName, { revision }: Current, named: string | undefined): void {
    if (!named || named === String(revision)) return;
    throw outdated(this.subject(at), `the version is ${revision}, not ${named}: read it again and repeat the change`);
  }

  /** The server's metadata of a change: generation and managed fields. */
  private stamp(next: AnyObject, previous: AnyObject, { verb, context }: ChangeOptions): void {
    const now = this.environment.now();
    this.kind.lifecycle?.stamp?.(next, previous, secondsTimestamp(now));
    const managedFields = entriesAfter(this.kind, { previous, next }, { verb, manager: context.manager, now });
    const metadata: ObjectMeta = { ...next.metadata, ...(managedFields && { managedFields }) };
    if (!managedFields) delete metadata.managedFields;
    if (!WISHLESS_VERBS.has(verb) && !verb.endsWith('-status') && isAnotherWish(this.kind, next, previous))
      metadata.generation = (metadata.generation ?? 0) + 1;
    next.metadata = metadata;
  }

  /** Answers a write that changes nothing; undefined when the cache was behind: compare again. */
  private async confirm(at: ObjectName, current: Current, again: boolean): Promise<Buffer | undefined> {
    if (!again && (await this.read(at))?.revision !== current.revision) return undefined;
    return stampResourceVersion(current.bytes, String(current.revision));
  }

  private async tryRemove(
    at: ObjectName,
    current: Current,
    bytes: Uint8Array,
    context: WriteContext,
  ): Promise<Buffer | undefined> {
    const write = this.write(at, withoutResourceVersion(bytes), context, 'delete');
    if (context.dryRun) return stampResourceVersion(write.bytes, String(current.revision));
    checkWriter(context, this.environment.terms);
    return this.attempt(at, () => this.storage.delete(this.key(at), current.revision, write), write);
  }

  /**
   * Undefined when another writer was faster, and that can be read. The faster write may still be on its way to the
   * disk: who is refused because of it must not be able to read that it never was, now or after a crash.
   */
  private async attempt(
    at: ObjectName,
    store: () => Promise<number>,
    write: OwnWrite,
    planned?: Planned,
  ): Promise<Buffer | undefined> {
    const handedOver = write.awaitsDisk && this.id === 'Lease' ? this.environment.terms?.changing(at) : undefined;
    try {
      const revision = await store();
      planned?.settle(revision);
      if (this.kind.shownBeforeAcknowledged || handedOver) await this.cache.reached(revision, FRESH_TIMEOUT_MS);
      return this.acknowledge(write, revision);
    } catch (error) {
      planned?.cancel();
      if (!(error instanceof StorageError) || !OUTRUN.has(error.code)) throw translateStorageError(error, this.subject(at));
      if (error.revision !== undefined) await this.cache.reached(error.revision, FRESH_TIMEOUT_MS);
      return undefined;
    } finally {
      handedOver?.();
    }
  }

  private acknowledge(write: OwnWrite, revision: number): Buffer {
    if (revision > this.acknowledged.revision) this.acknowledged.revision = revision;
    return servedOnce(write.memo, write.bytes, revision);
  }

  /**
   * A small write that awaits the disk, as a Lease's new holder does, goes on while the disk is full: without it
   * nothing would lead.
   */
  private changing(at: ObjectName, { current, previous, next, bytes }: Versions, { context, verb }: ChangeOptions): OwnWrite {
    const write = this.write(at, bytes, context, verb, current.bytes);
    if (!this.kind.awaitsDisk?.(next, previous)) return write;
    return { ...write, awaitsDisk: true, urgent: write.urgent === true || write.bytes.length <= SMALL_BYTES };
  }

  private write(at: ObjectName, bytes: Uint8Array, context: WriteContext, verb: string, replaces?: Uint8Array): OwnWrite {
    const { kind, durability } = this.kind;
    if (!UNBOUNDED_VERBS.has(verb)) checkObjectBounds(this.kind, bytes, this.subject(at), replaces);
    const urgent = URGENT_VERBS.has(verb);
    return { kind, bytes, user: context.user, manager: context.manager, verb, durability, urgent, memo: {} };
  }
}
