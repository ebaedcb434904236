/** A line of a log, or a piece of a long one. */
export interface LogPiece {
  /** When it was written, as the log says it: RFC 3339 with nanoseconds. */
  readonly time: string;
  /** What was written, with the end of the line where it has come; without the time. */
  readonly data: Buffer;
  /** Whether the line begins with it. */
  readonly first: boolean;
}

/**
 * Lines are handed on whole up to this length; longer ones in pieces,
 * so that a program that writes no ends of lines fills no memory.
 */
const longestPiece = 64 * 1024;
const newline = 10;
const space = 32;
/** "2026-11-21T11:22:33.123456789Z", and as it looks with an offset. */
const longestTime = 40;

/** Cuts a log with times into lines, each with its time. Holds back the beginning of a line until its end comes. */
export class LogLines {
  #rest: Buffer = Buffer.alloc(0);
  /** The time of the line of which pieces were handed on. */
  #within: string | undefined;
  #lastTime = '';

  push(chunk: Buffer): LogPiece[] {
    const data = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const pieces: LogPiece[] = [];
    let from = 0;
    for (let end = data.indexOf(newline); end >= 0; end = data.indexOf(newline, from)) {
      pieces.push(this.#piece(data.subarray(from, end + 1), true));
      from = end + 1;
    }
    this.#rest = data.subarray(from);
    if (this.#rest.length > longestPiece) {
      pieces.push(this.#piece(this.#rest, false));
      this.#rest = Buffer.alloc(0);
    }
    return pieces;
  }

  /** The log has ended: what is left is a line without an end. */
  flush(): LogPiece[] {
    const rest = this.#rest;
    this.#rest = Buffer.alloc(0);
    // Cut within its time there is nothing of the line itself.
    const empty = rest.length === 0 || (this.#within === undefined && !rest.includes(space));
    return empty ? [] : [this.#piece(rest, true)];
  }

  #piece(data: Buffer, last: boolean): LogPiece {
    const within = this.#within;
    if (within !== undefined) {
      if (last) this.#within = undefined;
      return { time: within, data, first: false };
    }
    const end = data.subarray(0, longestTime).indexOf(space);
    if (end > 0) this.#lastTime = data.toString('latin1', 0, end);
    if (!last) this.#within = this.#lastTime;
    return { time: this.#lastTime, data: data.subarray(end + 1), first: true };
  }
}
