/**
 * How far a log has been read, so that reading can go on after a lost connection without losing and without repeating a
 * line.
 *
 * The log is read again from a time on, and what comes is compared with what was seen. A container's two streams are
 * stamped before they are written, so that neighbours may be out of order by a moment: dropping what is older than the
 * newest line would lose one. The newest lines are remembered, and counted by their time when they come again, in the
 * same order; what is as old as a forgotten line was seen.
 */
export interface LogPosition {
  /** The time from which on the log has to be read again; undefined: from where it was read the first time. */
  readonly resumeFrom: string | undefined;
  /** The connection was lost: what comes next is read again. */
  rewind(): void;
  /**
   * A piece of a line has come, `first` being whether the line begins with it. Returns how many of its bytes were seen
   * before: all of them for a line that was, some when the connection was lost within a long line.
   */
  see(time: string, bytes: number, first: boolean): number;
  /**
   * Lines may be missing before the one that came last: the newest that was seen has not come again,
   * so it is no longer kept.
   */
  readonly gap: LogGap | undefined;
}

/**
 * Lines between these two times, RFC 3339 with nanoseconds, may be missing:
 * the node has deleted what was written there.
 */
export interface LogGap {
  /** Of the last line before. */
  readonly after: string;
  /** Of the first line behind. */
  readonly before: string;
}

export interface LogPositionOptions {
  /** Whether reading began in the middle (`tail`): lines from before that may come again and are not wanted. */
  readonly inMiddle: boolean;
  /** Lines to remember (default 1,024): far more than two streams can overtake each other by. */
  readonly capacity?: number;
}

interface SeenLine {
  readonly time: string;
  /** How much of it was handed on. */
  bytes: number;
}

export function createLogPosition({ inMiddle, capacity = 1_024 }: LogPositionOptions): LogPosition {
  return new CountedPosition(inMiddle, capacity);
}

class CountedPosition implements LogPosition {
  readonly #inMiddle: boolean;
  readonly #capacity: number;
  /** The newest lines in the order they came. */
  #lines: SeenLine[] = [];
  /**
   * The oldest time that came at all, and the newest of a line that is no longer remembered.
   * Times are compared as text.
   */
  #oldest = '';
  #forgotten = '';
  /**
   * Since the connection was lost: the remembered lines that have not come again, by time. Empty when all have:
   * from then on all is new.
   */
  #awaited = new Map<string, SeenLine[]>();
  /** Of those the newest: a log is always read in the same order, so that what is new comes behind it. */
  #newest: SeenLine | undefined;
  #current: SeenLine | undefined;
  gap: LogGap | undefined;
  /** How much of the current line has come. */
  #at = 0;

  constructor(inMiddle: boolean, capacity: number) {
    this.#inMiddle = inMiddle;
    this.#capacity = capacity;
  }

  get resumeFrom(): string | undefined {
    return this.#forgotten || (this.#inMiddle ? this.#oldest : '') || undefined;
  }

  rewind(): void {
    this.#current = undefined;
    this.#awaited = new Map();
    for (const line of this.#lines) {
      const same = this.#awaited.get(line.time);
      if (same) same.push(line);
      else this.#awaited.set(line.time, [line]);
    }
    // What is older than a forgotten line is not read again, as after a clock was set back.
    this.#newest = this.#lines.findLast(({ time }) => time > this.#forgotten);
  }

  see(time: string, bytes: number, first: boolean): number {
    if (first) {
      this.gap = undefined;
      this.#current = this.#begin(time);
      this.#at = 0;
    }
    if (this.#current === undefined) return bytes;
    const seen = Math.min(bytes, Math.max(0, this.#current.bytes - this.#at));
    this.#at += bytes;
    this.#current.bytes = Math.max(this.#current.bytes, this.#at);
    return seen;
  }

  #begin(time: string): SeenLine | undefined {
    if (this.#awaited.size > 0) {
      const known = this.#comesAgain(time);
      if (known) return known;
      if (time <= this.#forgotten || (this.#inMiddle && time < this.#oldest)) return undefined;
      this.#checkNewest(time);
    }
    const line = { time, bytes: 0 };
    this.#lines.push(line);
    if (this.#oldest === '' || time < this.#oldest) this.#oldest = time;
    // Seldom, so that a line costs no copying.
    if (this.#lines.length >= 2 * this.#capacity) this.#forget();
    return line;
  }

  #comesAgain(time: string): SeenLine | undefined {
    const same = this.#awaited.get(time);
    const line = same?.shift();
    if (same?.length === 0) this.#awaited.delete(time);
    return line;
  }

  /**
   * A new line has come: the newest that was seen must have come again before,
   * or the node has no more what was written between them.
   */
  #checkNewest(time: string): void {
    if (this.#newest !== undefined && this.#awaited.get(this.#newest.time)?.includes(this.#newest)) {
      this.gap = { after: this.#newest.time, before: time };
      this.#awaited = new Map();
    }
    this.#newest = undefined;
  }

  #forget(): void {
    for (const { time } of this.#lines.slice(0, -this.#capacity)) if (time > this.#forgotten) this.#forgotten = time;
    // Of a time that is partly forgotten nothing can be counted.
    this.#lines = this.#lines.slice(-this.#capacity).filter(({ time }) => time > this.#forgotten);
  }
}
