import { closed } from '../checks.ts';
import type { StorageClock } from '../clock.ts';
import { StorageError } from '../storage-error.ts';
import type { WatcherHub } from '../watchers.ts';
import { encodeHead } from './head.ts';
import type { JournalLimits } from './limits.ts';
import type { LogTimes } from './log-times.ts';
import type { MappedPages } from './mapped-pages.ts';
import type { DecidedHead, PendingWrite } from './pending-write.ts';
import { type RelaxedChanges, type RelaxedKeys, withAwaited } from './relaxed-keys.ts';
import type { Reserve } from './reserve.ts';
import { countsAfter, encodeState, type StoreState } from './state.ts';
import { computeSweep, type SweepStep } from './sweep.ts';
import { readHead, readState, type Tables } from './tables.ts';
import { translateWriteError } from './write-error.ts';

interface Waiting extends PendingWrite {
  readonly resolve: (revision: number) => void;
  readonly reject: (error: StorageError) => void;
}

interface Commit {
  readonly state: StoreState;
  readonly writes: readonly Waiting[];
  /** What was acknowledged before and rides along. */
  readonly relaxed: RelaxedChanges;
  /** That and what the relaxed writes of this commit that await the disk leave. */
  readonly relaxedOnDisk: RelaxedChanges;
  readonly sweep: SweepStep | undefined;
}

/**
 * Revisions are reserved on disk in blocks, so that a crash can lose relaxed writes without a revision being used
 * twice.
 */
const reservedBlock = 10_000;
const maxCommitWrites = 5_000;
const maxCommitBytes = 16 * 1024 * 1024;
const maxWaitingBytes = 64 * 1024 * 1024;
/** Relaxed changes older than this share of their delay ride along with a commit that happens anyway. */
const rideAlong = 1 / 3;
const none: RelaxedChanges = new Map();
const swallow = (): void => undefined;

/**
 * The way of every write: decided (its revision is taken) -> waiting -> committed and synced, together with all that
 * wait -> published (visible to lists and watchers) -> acknowledged; always in the order of the revisions. A relaxed
 * write skips the commit, not the order, unless it awaits the disk. When a commit fails, all its writes that await the
 * disk and those that wait behind it are refused, with later ones of their keys, as they may build on it.
 */
export class Journal {
  readonly #tables: Tables;
  readonly #directory: string;
  readonly #limits: JournalLimits;
  readonly #clock: StorageClock;
  readonly #relaxed: RelaxedKeys;
  readonly #hub: WatcherHub;
  readonly #reserve: Reserve;
  readonly #times: LogTimes;
  readonly #pages: MappedPages;
  readonly #decided = new Map<string, DecidedHead>();
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #sweepWaiters: { readonly revision: number; readonly resolve: () => void; readonly reject: (error: StorageError) => void }[] =
    [];
  #state: StoreState;
  #revision: number;
  #published: number;
  #compacted: number;
  #dirtySince: number | undefined;
  #cancelFlush: () => void = swallow;
  #flushDue = false;
  #running: Promise<void> | undefined;
  #closing = false;

  constructor(parts: {
    readonly tables: Tables;
    readonly directory: string;
    readonly limits: JournalLimits;
    readonly clock: StorageClock;
    readonly relaxed: RelaxedKeys;
    readonly hub: WatcherHub;
    readonly reserve: Reserve;
    readonly times: LogTimes;
    readonly pages: MappedPages;
    readonly state: StoreState;
  }) {
    this.#tables = parts.tables;
    this.#directory = parts.directory;
    this.#limits = parts.limits;
    this.#clock = parts.clock;
    this.#relaxed = parts.relaxed;
    this.#hub = parts.hub;
    this.#reserve = parts.reserve;
    this.#times = parts.times;
    this.#pages = parts.pages;
    this.#state = parts.state;
    this.#revision = parts.state.reserved;
    this.#published = parts.state.reserved;
    this.#compacted = parts.state.compacted;
  }

  /** Every write up to this revision is visible and as durable as requested. */
  get published(): number {
    return this.#published;
  }

  get compacted(): number {
    return this.#compacted;
  }

  /** What the next write of the key is compared with: deletions too, as long as history knows them. */
  decidedHead(key: string): DecidedHead | undefined {
    const decided = this.#decided.get(key);
    if (decided) return decided;
    const relaxed = this.#relaxed.get(key);
    if (relaxed) return { revision: relaxed.revision, size: 0, deleted: false, durability: 'relaxed' };
    const head = readHead(this.#tables, key);
    return head && { ...head, durability: 'synced' };
  }

  checkRoom(key: string, bytes: number, canWait: boolean): void {
    if (canWait) this.#reserve.check();
    const stored = this.#state.logBytes + this.#state.relaxedBytes + this.#waitingBytes + bytes;
    if (stored > this.#limits.maxBytes)
      throw new StorageError(
        'no-space',
        `the store holds its limit of ${this.#limits.maxBytes} bytes; delete objects or raise the limit`,
      );
    if (this.#waitingBytes + bytes > maxWaitingBytes)
      throw new StorageError('busy', `write ${key}: ${this.#waitingBytes} bytes wait for the disk already; try again later`);
  }

  nextRevision(): number {
    return ++this.#revision;
  }

  /** Takes a write that was decided for `nextRevision()` in the same turn. */
  append(write: PendingWrite): Promise<number> {
    this.#decide(write);
    if (write.event.durability === 'synced') this.#times.note(write.event.revision, write.time);
    this.#waitingBytes += write.record.length;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...write, resolve, reject });
      this.#wake();
    });
  }

  #decide({ event, record }: PendingWrite): void {
    const { key, revision, durability } = event;
    this.#decided.set(key, { revision, size: record.length, deleted: event.type === 'delete', durability });
  }

  compact(revision: number): Promise<void> {
    const target = Math.min(revision, this.#published);
    if (target <= this.#compacted) return Promise.resolve();
    this.#times.compact(this.#compacted, target);
    this.#compacted = target;
    return new Promise((resolve, reject) => {
      this.#sweepWaiters.push({ revision: target, resolve, reject });
      this.#wake();
    });
  }

  /** Finishes what waits, and writes the relaxed keys, the exact revision, and a compaction that removed nothing. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#cancelFlush();
    while (this.#running) await this.#running;
    const isWritten = this.#state.reserved === this.#revision && this.#state.compacted === this.#compacted;
    if (!this.#relaxed.isDirty && isWritten) return;
    const relaxed = this.#relaxed.takeDirty();
    const state = { ...this.#stateAfter([], relaxed, undefined), reserved: this.#revision };
    try {
      await this.#write({ state, writes: [], relaxed, relaxedOnDisk: relaxed, sweep: undefined });
    } catch (error) {
      throw await translateWriteError(error, this.#directory);
    }
  }

  #wake(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      if (this.#hasWork()) this.#wake();
    });
  }

  #hasWork(): boolean {
    return this.#waiting.length > 0 || this.#flushDue || this.#sweepWaiters.length > 0;
  }

  async #run(): Promise<void> {
    // The writes that arrive in this turn of the event loop share a commit.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#hasWork()) await this.#step();
    await this.#pages.release();
  }

  async #step(): Promise<void> {
    if (this.#flushDue && this.#reserve.isLow) this.#postponeFlush();
    const writes = this.#takeWrites();
    let sweep: SweepStep | undefined;
    try {
      sweep = this.#sweepWaiters.length > 0 ? computeSweep(this.#tables, this.#state, this.#compacted) : undefined;
    } catch (error) {
      this.#refuseSweeps(
        error instanceof StorageError ? error : new StorageError('failed', `compact: ${String(error)}`, { cause: error }),
      );
    }
    const mustCommit =
      this.#flushDue ||
      (sweep !== undefined && sweep.log.size + sweep.heads.length > 0) ||
      writes.some((write) => write.awaitsDisk) ||
      (writes.length > 0 && writes.at(-1)!.event.revision > this.#state.reserved);
    if (mustCommit) await this.#commit(writes, sweep);
    else {
      if (sweep) this.#state = { ...this.#state, swept: sweep.swept };
      this.#publish(writes);
    }
    this.#finishSweeps();
  }

  #takeWrites(): Waiting[] {
    let count = 0;
    for (let bytes = 0; count < this.#waiting.length && count < maxCommitWrites && bytes < maxCommitBytes; count++)
      bytes += this.#waiting[count]!.record.length;
    return this.#waiting.splice(0, count);
  }

  async #commit(writes: readonly Waiting[], sweep: SweepStep | undefined): Promise<void> {
    await this.#reserve.prepare();
    const dirtyMs = this.#clock.now() - (this.#dirtySince ?? Number.POSITIVE_INFINITY);
    const takesRelaxed = this.#flushDue || (dirtyMs > this.#limits.relaxedDelayMs * rideAlong && !this.#reserve.isLow);
    const relaxed = takesRelaxed ? this.#takeRelaxed() : none;
    const relaxedOnDisk = withAwaited(relaxed, writes);
    const state = this.#stateAfter(writes, relaxedOnDisk, sweep);
    const commit: Commit = { state, writes, relaxed, relaxedOnDisk, sweep };
    try {
      await this.#write(commit);
    } catch (error) {
      await this.#failed(commit, await translateWriteError(error, this.#directory));
      return;
    }
    this.#publish(writes);
    this.#compactEarly();
  }

  #stateAfter(writes: readonly Waiting[], relaxed: RelaxedChanges, sweep: SweepStep | undefined): StoreState {
    const old = this.#state;
    const { live, liveBytes, records, logBytes } = countsAfter(old, writes);
    const measured = this.#relaxed.measure(relaxed);
    const revision = writes.at(-1)?.event.revision ?? old.revision;
    return {
      commit: old.commit + 1,
      revision,
      reserved: revision > old.reserved - reservedBlock / 2 ? revision + reservedBlock : old.reserved,
      compacted: this.#compacted,
      swept: sweep?.swept ?? old.swept,
      live,
      liveBytes,
      records: records - (sweep?.log.size ?? 0),
      logBytes: logBytes - (sweep?.bytes ?? 0),
      relaxed: old.relaxed + measured.keys,
      relaxedBytes: old.relaxedBytes + measured.bytes,
      layout: old.layout,
      times: this.#times.state,
    };
  }

  /** One transaction, on disk when it resolves. */
  async #write({ state, writes, relaxedOnDisk, sweep }: Commit): Promise<void> {
    const { root, log, heads, meta, relaxed: relaxedTable } = this.#tables;
    // Every operation of a batch hands out a promise of the same outcome; only that of the batch is waited for.
    const quiet = (promise: Promise<boolean>): void => void promise.catch(swallow);
    await root.batch(() => {
      for (const revision of sweep?.log ?? []) quiet(log.remove(revision));
      for (const key of sweep?.heads ?? []) quiet(heads.remove(key));
      for (const { event, record } of writes) {
        if (event.durability === 'relaxed') continue;
        quiet(log.put(event.revision, record, { append: true }));
        quiet(
          heads.put(event.key, encodeHead({ revision: event.revision, size: record.length, deleted: event.type === 'delete' })),
        );
      }
      for (const [key, record] of relaxedOnDisk) quiet(record ? relaxedTable.put(key, record) : relaxedTable.remove(key));
      quiet(meta.put('state', encodeState(state)));
    });
    this.#state = state;
    this.#relaxed.written(relaxedOnDisk);
  }

  async #failed(commit: Commit, error: StorageError): Promise<void> {
    if (commit.relaxed.size > 0) {
      this.#relaxed.keep(commit.relaxed);
      this.#armFlush();
    }
    if (this.#isInFile(commit)) {
      this.#state = commit.state;
      this.#relaxed.written(commit.relaxedOnDisk);
      this.#publish(commit.writes, error);
    } else {
      const all = [...commit.writes, ...this.#waiting];
      const lostKeys = new Set(all.flatMap(({ awaitsDisk, event }) => (awaitsDisk ? [event.key] : [])));
      const isLost = ({ event }: Waiting): boolean => lostKeys.has(event.key) || event.revision > this.#state.reserved;
      this.#waiting = this.#waiting.filter((write) => !isLost(write));
      this.#refuse(all.filter(isLost), error);
      this.#decided.clear();
      for (const write of all) if (!isLost(write)) this.#decide(write);
      this.#publish(commit.writes.filter((write) => !isLost(write)));
    }
    this.#refuseSweeps(error);
  }

  /** A commit whose last sync failed may be in the file all the same; then readers see it, and so must watchers. */
  #isInFile(commit: Commit): boolean {
    try {
      this.#tables.root.resetReadTxn();
      return readState(this.#tables).commit === commit.state.commit;
    } catch {
      // A state that cannot be read acknowledges nothing; the next read reports why.
      return false;
    }
  }

  #refuse(writes: readonly Waiting[], error: StorageError): void {
    for (const write of writes) {
      this.#waitingBytes -= write.record.length;
      write.reject(error);
    }
  }

  /** Makes writes visible and acknowledges them; with `error`, their outcome is unknown to the waiting writers. */
  #publish(writes: readonly Waiting[], error?: StorageError): void {
    if (writes.length === 0) return;
    for (const { event, record, awaitsDisk } of writes) {
      this.#waitingBytes -= record.length;
      if (this.#decided.get(event.key)?.revision === event.revision) this.#decided.delete(event.key);
      if (event.durability === 'relaxed') this.#relaxed.apply(event, record, awaitsDisk);
    }
    this.#published = writes.at(-1)!.event.revision;
    if (this.#relaxed.isDirty) this.#armFlush();
    this.#hub.publish(writes.map((write) => write.event));
    for (const write of writes)
      if (error) write.reject(error);
      else write.resolve(write.event.revision);
  }

  #armFlush(): void {
    if (this.#dirtySince !== undefined || this.#closing) return;
    this.#dirtySince = this.#clock.now();
    this.#cancelFlush = this.#clock.after(this.#limits.relaxedDelayMs, () => {
      this.#flushDue = true;
      this.#wake();
    });
  }

  /** On a disk that is nearly full they stay in memory: the reserve is for what frees space. */
  #postponeFlush(): void {
    this.#flushDue = false;
    this.#dirtySince = undefined;
    this.#armFlush();
  }

  #takeRelaxed(): RelaxedChanges {
    this.#cancelFlush();
    this.#flushDue = false;
    this.#dirtySince = undefined;
    return this.#relaxed.takeDirty();
  }

  #finishSweeps(): void {
    const done = this.#sweepWaiters.filter((waiter) => waiter.revision <= this.#state.swept);
    if (done.length === 0) return;
    this.#sweepWaiters = this.#sweepWaiters.filter((waiter) => waiter.revision > this.#state.swept);
    for (const waiter of done) waiter.resolve();
  }

  #refuseSweeps(error: StorageError): void {
    const waiters = this.#sweepWaiters;
    this.#sweepWaiters = [];
    for (const waiter of waiters) waiter.reject(error);
  }

  /** Halves the history when it has outgrown its bound between two of the server's compactions. */
  #compactEarly(): void {
    const { logBytes, liveBytes } = this.#state;
    if (this.#closing || this.#sweepWaiters.length > 0 || logBytes - liveBytes <= this.#limits.maxHistoryBytes) return;
    this.compact(Math.ceil((this.#compacted + this.#published) / 2)).catch(swallow);
  }

  /** For calls after the close. */
  checkOpen(): void {
    if (this.#closing) throw closed();
  }
}
