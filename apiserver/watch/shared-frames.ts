/** What follows a place in the ring, encoded; without bytes when nothing up to `next` is for this selection. */
export interface Frame {
  readonly bytes: Buffer | undefined;
  /** The place behind it. */
  readonly next: number;
  /** Whether it ended because it was large enough; else it reached the end of the ring as that was then. */
  readonly full: boolean;
}

/** Those at the same place ask within one batch; what is kept beyond serves the few that lag behind. */
const MAX_BYTES = 2 * 1024 * 1024;
/** And not for long: a kind that rests would hold the frames of its last storm for ever. */
const MAX_AGE_MS = 15_000;

interface KeptFrame extends Frame {
  readonly madeAtMs: number;
}

/** The watchers with one selection and format, and the keys of the frames that were made for them. */
interface Sharing {
  watchers: number;
  readonly keys: Set<string>;
}

/**
 * Frames that several watchers of one kind want, made once for all that stand at the same place with the same selection
 * and format. They go with the last of these watchers.
 */
export class SharedFrames {
  readonly #frames = new Map<string, KeptFrame>();
  readonly #now: () => number;
  readonly #sharing = new Map<string, Sharing>();
  #bytes = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** How many bytes are kept. */
  get size(): number {
    return this.#bytes;
  }

  /** Counts a watcher with this id; every `join` is followed by one `leave`. */
  join(id: string): void {
    const sharing = this.#sharing.get(id);
    if (sharing) sharing.watchers++;
    else this.#sharing.set(id, { watchers: 1, keys: new Set() });
  }

  leave(id: string): void {
    const sharing = this.#sharing.get(id);
    if (!sharing || --sharing.watchers > 0) return;
    for (const key of sharing.keys) this.#drop(key);
    this.#sharing.delete(id);
  }

  /** The frame at `sequence` for the watchers with this id; a short one only as long as nothing has come behind it. */
  get(id: string, sequence: number, endSequence: number, make: () => Frame): Frame {
    const key = `${sequence}\0${id}`;
    const known = this.#frames.get(key);
    if (known && (known.full || known.next === endSequence)) return known;
    if (known) this.#drop(key);
    const frame = make();
    const sharing = this.#sharing.get(id);
    if (!sharing) return frame;
    sharing.keys.add(key);
    this.#frames.set(key, { ...frame, madeAtMs: this.#now() });
    this.#bytes += sizeOf(frame);
    this.#trim(key);
    return frame;
  }

  clear(): void {
    this.#frames.clear();
    for (const { keys } of this.#sharing.values()) keys.clear();
    this.#bytes = 0;
  }

  /** The oldest go first, but never the newest, which others are about to ask for. */
  #trim(newest: string): void {
    for (const key of this.#frames.keys()) {
      if (this.#bytes <= MAX_BYTES || key === newest) return;
      this.#drop(key);
    }
  }

  /** Drops what is too old; called now and then. */
  forgetOld(): void {
    const oldest = this.#now() - MAX_AGE_MS;
    for (const [key, { madeAtMs }] of this.#frames) {
      if (madeAtMs >= oldest) return;
      this.#drop(key);
    }
  }

  #drop(key: string): void {
    const frame = this.#frames.get(key);
    if (!frame) return;
    this.#frames.delete(key);
    this.#sharing.get(key.slice(key.indexOf('\0') + 1))?.keys.delete(key);
    this.#bytes -= sizeOf(frame);
  }
}

/** Entries without bytes take room too. */
function sizeOf(frame: Frame): number {
  return (frame.bytes?.length ?? 0) + 256;
}
