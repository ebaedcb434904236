import type { Kind } from '../../api/kinds/kind.ts';
import { type Entry, restEntry, sizeOfEntry } from './entry.ts';

/** One change of one key, shared by every watcher. */
export interface CacheEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly revision: number;
  /** The state after the change; for DELETED the last state, stamped with the deletion's revision. */
  readonly entry: Entry;
  /** The state before, for transitions into and out of selectors. */
  readonly previous: Entry | undefined;
  readonly atMs: number;
}

export interface RingBounds {
  /** Events older than this go. */
  readonly maxAgeMs: number;
  readonly maxEvents: number;
  /** Bytes of what the events hold: the objects and what stands around them. */
  readonly maxBytes: number;
}

/** Five minutes outlast any reconnect; the others keep a storm from eating the memory. */
export const defaultRingBounds: RingBounds = { maxAgeMs: 5 * 60_000, maxEvents: 100_000, maxBytes: 64 * 1024 * 1024 };

/**
 * Heartbeats are written again and again, and all that they say is in the newest: a watcher that was away for longer
 * reads as many objects in a list as it would hear of in half a minute. Of 500 nodes they would take 40 MB in five
 * minutes.
 */
const heartbeatAgeMs = 60_000;

/** What of a kind's changes is kept. Relaxed objects that do not expire are heartbeats: Lease, NodeMetrics. */
export function ringBoundsOf({ durability, expiresAfter }: Pick<Kind, 'durability' | 'expiresAfter'>): RingBounds {
  const isHeartbeat = durability === 'relaxed' && !expiresAfter;
  return isHeartbeat ? { ...defaultRingBounds, maxAgeMs: heartbeatAgeMs } : defaultRingBounds;
}

/**
 * What an event takes besides its object's bytes: its fields, those of the entry and of the buffer, the key. Measured
 * on 100,000 of 1 KB.
 */
const EVENT_BYTES = 800;

/** Dropped events leave empty places at the front; the array is moved together when there are so many. */
const COMPACT_AT = 1_024;

/**
 * The latest events of one kind in the order of their revisions. Every event has a sequence number that never changes,
 * so that a watcher is no more than a number: what it has not read yet stays here for all of them, and memory does not
 * grow with the watchers.
 */
export class EventRing {
  readonly #bounds: RingBounds;
  /** Undefined below `head`: what was dropped is held no longer. */
  #events: (CacheEvent | undefined)[] = [];
  #head = 0;
  #headSequence = 0;
  #bytes = 0;
  #start: number;

  constructor(bounds: RingBounds, startRevision: number) {
    this.#bounds = bounds;
    this.#start = startRevision;
  }

  /** Every event above this revision is here. */
  get startRevision(): number {
    return this.#start;
  }

  get firstSequence(): number {
    return this.#headSequence;
  }

  /** One behind the newest. */
  get endSequence(): number {
    return this.#headSequence + this.#events.length - this.#head;
  }

  at(sequence: number): CacheEvent | undefined {
    return this.#events[this.#head + sequence - this.#headSequence];
  }

  push(event: CacheEvent): void {
    this.#events.push(event);
    this.#bytes += sizeOf(event);
    this.trim(event.atMs);
  }

  /** Drops what is older or more than the bounds allow. */
  trim(nowMs: number): void {
    while (this.#head < this.#events.length) {
      const oldest = this.#events[this.#head]!;
      const length = this.#events.length - this.#head;
      const tooMuch = length > this.#bounds.maxEvents || this.#bytes > this.#bounds.maxBytes;
      if (!tooMuch && nowMs - oldest.atMs <= this.#bounds.maxAgeMs) break;
      this.#events[this.#head++] = undefined;
      this.#headSequence++;
      this.#bytes -= sizeOf(oldest);
      restEntry(oldest.entry);
      this.#start = oldest.revision;
    }
    if (this.#head < COMPACT_AT) return;
    this.#events = this.#events.slice(this.#head);
    this.#head = 0;
  }

  /** Forgets everything; watches from before `startRevision` are expired. */
  reset(startRevision: number): void {
    this.#headSequence = this.endSequence;
    this.#events = [];
    this.#head = 0;
    this.#bytes = 0;
    this.#start = startRevision;
  }

  /** The sequence of the first event above a revision; undefined when some of those are gone. */
  sequenceAfter(revision: number): number | undefined {
    if (revision < this.#start) return undefined;
    let low = this.#head;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#events[middle]!.revision <= revision) low = middle + 1;
      else high = middle;
    }
    return this.#headSequence + low - this.#head;
  }
}

/**
 * What would go with an event: its state, when a newer one has come, or else the state before, which is about as large.
 * A deletion holds both.
 */
function sizeOf({ type, entry, previous }: CacheEvent): number {
  return EVENT_BYTES + sizeOfEntry(entry) + (type === 'DELETED' && previous ? sizeOfEntry(previous) : 0);
}
