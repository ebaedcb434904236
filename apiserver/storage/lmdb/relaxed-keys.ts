import { prefixEnd } from '../checks.ts';
import { RestingEvent } from '../resting-event.ts';
import { SortedKeys } from '../sorted-keys.ts';
import type { StorageEvent } from '../storage.ts';

/** What a lazy write puts on disk: the newest record of each changed key, undefined for one that is gone. */
export type RelaxedChanges = ReadonlyMap<string, Buffer | undefined>;

/** What the disk holds of a key after a write: nothing after a deletion. */
function recordAfter({ type }: StorageEvent, record: Buffer): Buffer | undefined {
  return type === 'delete' ? undefined : record;
}

interface AwaitedWrite {
  readonly event: StorageEvent;
  readonly record: Buffer;
  readonly awaitsDisk: boolean;
}

/** `changes`, and after them what the relaxed ones of `writes` leave that await the disk. */
export function withAwaited(changes: RelaxedChanges, writes: readonly AwaitedWrite[]): RelaxedChanges {
  const awaited = writes.filter(({ event, awaitsDisk }) => awaitsDisk && event.durability === 'relaxed');
  if (awaited.length === 0) return changes;
  return new Map([...changes, ...awaited.map(({ event, record }) => [event.key, recordAfter(event, record)] as const)]);
}

/** The relaxed keys: their newest state in memory, and what of it is not on disk yet. */
export class RelaxedKeys {
  readonly #newest = new Map<string, RestingEvent>();
  readonly #order = new SortedKeys();
  readonly #sizeOnDisk = new Map<string, number>();
  #dirty = new Map<string, Buffer | undefined>();

  /** Takes what was read from the disk at the start. */
  load(event: StorageEvent, size: number): void {
    this.#sizeOnDisk.set(event.key, size);
    this.#newest.set(event.key, new RestingEvent(event).rest());
    this.#order.add(event.key);
  }

  get(key: string): StorageEvent | undefined {
    return this.#newest.get(key);
  }

  /** In key order, from `start` on, those with the prefix. */
  list(prefix: string, start: string): StorageEvent[] {
    return this.#order.between(start, prefixEnd(prefix)).map((key) => this.#newest.get(key)!);
  }

  /** In revision order, those written last within from < revision <= upTo. */
  since(prefix: string, from: number, upTo: number): StorageEvent[] {
    const events: StorageEvent[] = [];
    for (const event of this.#newest.values())
      if (event.revision > from && event.revision <= upTo && event.key.startsWith(prefix)) events.push(event);
    return events.sort((a, b) => a.revision - b.revision);
  }

  apply(event: StorageEvent, record: Buffer, isOnDisk: boolean): void {
    if (event.type === 'delete') {
      this.#newest.delete(event.key);
      this.#order.delete(event.key);
    } else {
      this.#newest.set(event.key, event instanceof RestingEvent ? event : new RestingEvent(event));
      this.#order.add(event.key);
    }
    if (isOnDisk) this.#dirty.delete(event.key);
    else this.#dirty.set(event.key, recordAfter(event, record));
  }

  /** Marks a key for removal from the disk. */
  drop(key: string): void {
    this.#newest.delete(key);
    this.#order.delete(key);
    this.#dirty.set(key, undefined);
  }

  get isDirty(): boolean {
    return this.#dirty.size > 0;
  }

  /** Hands over what is to be written; `keep` gives it back when that failed. */
  takeDirty(): RelaxedChanges {
    const changes = this.#dirty;
    this.#dirty = new Map();
    return changes;
  }

  keep(changes: RelaxedChanges): void {
    for (const [key, record] of changes) if (!this.#dirty.has(key)) this.#dirty.set(key, record);
  }

  /** How keys and bytes on disk change by `changes`. */
  measure(changes: RelaxedChanges): { keys: number; bytes: number } {
    let keys = 0;
    let bytes = 0;
    for (const [key, record] of changes) {
      const size = this.#sizeOnDisk.get(key);
      keys += (record ? 1 : 0) - (size === undefined ? 0 : 1);
      bytes += (record?.length ?? 0) - (size ?? 0);
    }
    return { keys, bytes };
  }

  written(changes: RelaxedChanges): void {
    for (const [key, record] of changes) {
      if (record) this.#sizeOnDisk.set(key, record.length);
      else this.#sizeOnDisk.delete(key);
      this.#rest(key);
    }
  }

  /** Keeps the newest state in little memory. Not sooner than it is written: its record holds the bytes until then. */
  #rest(key: string): void {
    this.#newest.get(key)?.rest();
  }
}
