/** What follows a place in the ring, encoded; without bytes when nothing up to `next` is for this selection. */
export interface Frame {
  readonly bytes: Buffer | undefined;
  /** The place behind it. */
  readonly next: number;
  /** Whether it ended because it was large enough; else it reached the end of the ring as that was then. */
  readonly full: boolean;
}

/** Those at the same place ask within one wave; what is kept beyond serves the few that lag behind. */
const MAX_BYTES = 2 * 1024 * 1024;

/** Frames that several watchers of one kind want, made once for all that stand at the same place with the same selection and format. */
export class SharedFrames {
  private readonly frames = new Map<string, Frame>();
  private bytes = 0;

  /** The frame at `sequence` for the streams with this id; a short one only as long as nothing has come behind it. */
  get(id: string, sequence: number, endSequence: number, make: () => Frame): Frame {
    const key = `${sequence}\0${id}`;
    const known = this.frames.get(key);
    if (known && (known.full || known.next === endSequence)) return known;
    if (known) this.drop(key, known);
    const frame = make();
    this.frames.set(key, frame);
    this.bytes += sizeOf(frame);
    this.trim(frame);
    return frame;
  }

  clear(): void {
    this.frames.clear();
    this.bytes = 0;
  }

  /** The oldest go first, but never the newest, which others are about to ask for. */
  private trim(newest: Frame): void {
    for (const [key, frame] of this.frames) {
      if (this.bytes <= MAX_BYTES || frame === newest) return;
      this.drop(key, frame);
    }
  }

  private drop(key: string, frame: Frame): void {
    this.frames.delete(key);
    this.bytes -= sizeOf(frame);
  }
}

/** Entries without bytes take room too. */
function sizeOf(frame: Frame): number {
  return (frame.bytes?.length ?? 0) + 256;
}
