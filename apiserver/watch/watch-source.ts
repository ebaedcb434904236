import { type ApiError, expired } from '../../api/errors/index.ts';
import type { Entry } from './entry.ts';
import { bookmarkMetadata, type EventFormat } from './event-format.ts';
import { encodeFrame, type WireEvent } from './event-frame.ts';
import type { CacheEvent } from './event-ring.ts';
import type { KindCache } from './kind-cache.ts';
import { type Selection, visibleType } from './selection.ts';
import type { Frame } from './shared-frames.ts';
import { stampResourceVersion } from './stamp-resource-version.ts';

export interface WatchStart {
  /** Deliver what happened after this revision; undefined: begin with the present. */
  readonly revision: number | undefined;
  /** Begin with the present objects as ADDED. */
  readonly initialEvents: boolean;
  /** End the initial events with a bookmark. */
  readonly initialBookmark: boolean;
  /** Wait for a revision that has not come yet, however long that takes. */
  readonly awaitsRevision?: boolean;
}

/**
 * Enough to amortise a message, and small beside any receive limit (an object has at most 1.5 MiB). It is also what a
 * watcher that reads slowly can hold, as often as messages are on their way to it.
 */
const FRAME_BYTES = 64 * 1024;
/**
 * So many objects or events are looked at between two turns of the event loop: selecting may need decoding, which costs
 * some 30 us each.
 */
const SCANNED_PER_TURN = 500;
/** A place that the ring does not have. */
const LOST = -1;

/** The objects of a kind whose versions a webhook converts, as a watch shows them. */
export interface ConvertedView {
  /** Undefined where the webhook has to be asked. */
  known(entry: Entry): Entry | undefined;
  convert(entries: readonly Entry[]): Promise<readonly Entry[]>;
}

/** So many objects are converted before they are looked at. */
const CONVERTED_AT_ONCE = 100;

/** The object of the DELETED event when an object leaves a watcher's selection: the old state with the new version. */
const leaving = new WeakMap<CacheEvent, Entry>();

/**
 * What one watcher still has to get: the rest of its initial events and its place in the ring. It holds no events of
 * its own, so a watcher that does not read costs nothing but its place, and loses it when the ring moves on.
 */
export class WatchSource {
  readonly #cache: KindCache;
  readonly #selection: Selection;
  readonly #format: EventFormat;
  readonly #id: string;
  #initial: readonly Entry[] | undefined;
  #initialAt = 0;
  #endInitial: number | undefined;
  #sequence: number;
  /** The revision behind which the events begin, as long as it has not come. */
  #awaited: number | undefined;
  #first = true;
  #closed = false;
  readonly #view: (() => ConvertedView | undefined) | undefined;
  /** What has to be converted before the next event can be looked at, and what was. */
  #unconverted: readonly Entry[] | undefined;
  #converted: ReadonlyMap<Entry, Entry> = new Map();

  /**
   * Shares what it encodes until `close`. Throws OUT_OF_RANGE when the events after `start.revision` are no longer
   * kept. `view`: how objects are converted at the moment.
   */
  constructor(
    cache: KindCache,
    selection: Selection,
    format: EventFormat,
    start: WatchStart,
    view?: () => ConvertedView | undefined,
  ) {
    this.#view = view;
    this.#cache = cache;
    this.#selection = selection;
    this.#format = format;
    this.#id = `${format.id}\0${selection.id}`;
    const from = start.initialEvents || start.revision === undefined ? cache.revision : start.revision;
    if (from > cache.revision && !start.awaitsRevision) throw tooLarge(cache, from);
    if (from > cache.revision) this.#awaited = from;
    const sequence = this.#awaited === undefined ? cache.ring.sequenceAfter(from) : cache.ring.endSequence;
    if (sequence === undefined) throw tooOld(cache, from);
    this.#sequence = sequence;
    if (start.initialEvents) this.#initial = cache.range(selection.prefix);
    if (start.initialBookmark) this.#endInitial = cache.revision;
    if (selection.pinned) cache.touched.follow(selection.pinned.field);
    cache.frames.join(this.#id);
  }

  /** Releases the watcher's resources; it must not be used afterwards. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#initial = undefined;
    this.#cache.frames.leave(this.#id);
  }

  /** Whether the revision behind which it begins is still to come: until then it has no events and bookmarks. */
  get awaits(): boolean {
    if (this.#awaited === undefined) return false;
    if (this.#cache.revision < this.#awaited) return true;
    this.#sequence = this.#cache.ring.sequenceAfter(this.#awaited) ?? LOST;
    this.#awaited = undefined;
    return false;
  }

  /** Whether something may be there to read. */
  get pending(): boolean {
    if (this.awaits) return false;
    return this.#initial !== undefined || this.#endInitial !== undefined || this.#sequence < this.#cache.ring.endSequence;
  }

  /** Whether the events that come next are gone already. */
  get lost(): boolean {
    return !this.awaits && this.#sequence < this.#cache.ring.firstSequence;
  }

  /** Whether `convert` comes next: the webhook has to be asked for what is to come. */
  get waits(): boolean {
    return this.#unconverted !== undefined;
  }

  /** Converts what comes next, for `next`. Throws what the webhook's failure is. */
  async convert(): Promise<void> {
    const entries = this.#unconverted ?? [];
    const view = this.#view?.();
    const shown = view ? await view.convert(entries) : entries;
    this.#converted = new Map(entries.map((entry, i) => [entry, shown[i]!]));
    this.#unconverted = undefined;
  }

  /** Whether the objects that were there at the beginning are still to come. */
  get hasInitial(): boolean {
    return this.#initial !== undefined;
  }

  /**
   * The next response, framed; undefined when nothing is left for this watcher at the moment, or, when something is
   * still `pending`, when nothing of what one turn may look at was for it: ask again in another turn. Throws
   * OUT_OF_RANGE when it fell behind.
   */
  next(): Buffer | undefined {
    if (!this.pending || this.waits) return undefined;
    const bytes = this.#initial ? this.#nextInitial() : this.#endInitial !== undefined ? this.#nextEnd() : this.#nextEvents();
    if (bytes) this.#first = false;
    return bytes;
  }

  /** A bookmark of how far the watcher has come; only when nothing is pending. */
  bookmark(): Buffer {
    return this.#encodeBookmark(this.#cache.revision, false);
  }

  #nextInitial(): Buffer | undefined {
    const events: WireEvent[] = [];
    let size = 0;
    const entries = this.#initial ?? [];
    const end = Math.min(entries.length, this.#initialAt + SCANNED_PER_TURN);
    while (this.#initialAt < end && size < FRAME_BYTES) {
      const entry = this.#shown(entries[this.#initialAt]!);
      if (!entry) {
        this.#unconverted = entries.slice(this.#initialAt, this.#initialAt + CONVERTED_AT_ONCE);
        break;
      }
      this.#initialAt++;
      if (!this.#selection.matches(entry)) continue;
      const bytes = this.#format.encode(entry, this.#first && events.length === 0);
      events.push({ type: 'ADDED', field: this.#format.field, bytes });
      size += bytes.length;
    }
    if (this.#initialAt >= entries.length) this.#initial = undefined;
    return events.length > 0 ? encodeFrame(events) : undefined;
  }

  #nextEnd(): Buffer {
    const revision = this.#endInitial!;
    this.#endInitial = undefined;
    return this.#encodeBookmark(revision, true);
  }

  #nextEvents(): Buffer | undefined {
    if (this.lost) throw tooOld(this.#cache);
    const { ring, frames, touched } = this.#cache;
    const { pinned } = this.#selection;
    if (pinned && !this.#view?.() && touched.isUntouched(pinned.field, pinned.value, this.#sequence)) {
      this.#sequence = ring.endSequence;
      return undefined;
    }
    const frame =
      this.#first && this.#format.hasHeading
        ? this.#readRing()
        : frames.get(this.#id, this.#sequence, ring.endSequence, () => this.#readRing());
    this.#sequence = frame.next;
    return frame.bytes;
  }

  #readRing(): Frame {
    const { ring } = this.#cache;
    const events: WireEvent[] = [];
    let size = 0;
    let next = this.#sequence;
    const end = Math.min(ring.endSequence, next + SCANNED_PER_TURN);
    for (; next < end && size < FRAME_BYTES; next++) {
      const event = this.#shownEvent(ring.at(next)!);
      if (!event) {
        this.#unconverted = this.#entriesFrom(next);
        break;
      }
      const type = visibleType(this.#selection, event);
      if (!type) continue;
      const entry = type === 'DELETED' && event.type !== 'DELETED' ? leavingEntry(event) : event.entry;
      const bytes = this.#format.encode(entry, this.#first && events.length === 0);
      events.push({ type, field: this.#format.field, bytes });
      size += bytes.length;
    }
    const full = next < ring.endSequence && next > this.#sequence;
    return { bytes: events.length > 0 ? encodeFrame(events) : undefined, next, full };
  }

  #shown(entry: Entry): Entry | undefined {
    const view = this.#view?.();
    return view ? (this.#converted.get(entry) ?? view.known(entry)) : entry;
  }

  #shownEvent(event: CacheEvent): CacheEvent | undefined {
    if (!this.#view?.() || !event.entry.key.startsWith(this.#selection.prefix)) return event;
    const entry = this.#shown(event.entry);
    // What an object was matters to selectors alone.
    const previous = event.previous && !this.#selection.everything ? this.#shown(event.previous) : event.previous;
    if (!entry || (event.previous && !previous)) return undefined;
    return { ...event, entry, previous };
  }

  /** What the next events are of; what is known already costs nothing. */
  #entriesFrom(sequence: number): readonly Entry[] {
    const { ring } = this.#cache;
    const found: Entry[] = [];
    for (let at = sequence; at < ring.endSequence && found.length < CONVERTED_AT_ONCE; at++) {
      const { entry, previous } = ring.at(at)!;
      if (!entry.key.startsWith(this.#selection.prefix)) continue;
      found.push(entry);
      if (previous && !this.#selection.everything) found.push(previous);
    }
    return found;
  }

  #encodeBookmark(revision: number, endsInitialEvents: boolean): Buffer {
    const bytes = this.#format.bookmark(bookmarkMetadata(revision, endsInitialEvents));
    return encodeFrame([{ type: 'BOOKMARK', field: this.#format.field, bytes }]);
  }
}

function leavingEntry(event: CacheEvent): Entry {
  const known = leaving.get(event);
  if (known) return known;
  const { key, bytes } = event.previous ?? event.entry;
  const entry = { key, bytes: stampResourceVersion(bytes, String(event.revision)), revision: event.revision };
  leaving.set(event, entry);
  return entry;
}

/** Expired as well, so that clients list again: a server that was restored from a backup may never get there. */
function tooLarge({ revision: current }: KindCache, revision: number): ApiError {
  return expired(`Too large resource version: ${revision}, current: ${current}: list again and watch from there`);
}

function tooOld(cache: KindCache, revision?: number): ApiError {
  const which = revision === undefined ? '' : `: ${revision} (${cache.ring.startRevision})`;
  return expired(
    `too old resource version${which}; changes of ${cache.kind.plural} are kept from version ${cache.ring.startRevision} on: list again and watch from there`,
  );
}
