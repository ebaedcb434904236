/** Which entries are wanted, and how they are shown. */
export interface LogView {
  /** Whether every line starts with its time. */
  readonly timestamps: boolean;
  readonly sinceTime: Date | undefined;
}

/** One line of a file of the engine's "json-file" driver: a line of the container, or 16 KiB of a longer one. */
interface Entry {
  readonly log: string;
  readonly stream: string;
  readonly time: string;
}

const newline = 10;
/** A frame is sent when it has this size. An entry has 16 KiB at most, so that no frame of ASCII exceeds 48 KiB. */
export const frameBytes = 32 * 1024;
/** Entries of the engine have less than 100 KiB, escaped. More without an end is damage, and must not fill memory. */
const longestEntry = 1024 * 1024;
const timePattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z$/;

/** Turns what is read of the engine's files into what the container wrote, in frames. One serves one log. */
export class LogEntries {
  readonly #timestamps: boolean;
  readonly #sinceMs: number | undefined;
  /** The beginning of an entry whose end has not been read. */
  #rest: Buffer = Buffer.alloc(0);
  #frame = '';
  #frameLength = 0;
  /** Whether the last entry of a stream ended within a line. */
  readonly #inLine = new Map<string, boolean>();

  constructor({ timestamps, sinceTime }: LogView) {
    this.#timestamps = timestamps;
    this.#sinceMs = sinceTime?.getTime();
  }

  /** Reads on; gives the frames that are full. The block may be overwritten afterwards. */
  *push(block: Buffer): Generator<Buffer> {
    let from = 0;
    for (let end = block.indexOf(newline); end >= 0; end = block.indexOf(newline, from)) {
      const piece = block.subarray(from, end);
      from = end + 1;
      this.#add(this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]));
      this.#rest = Buffer.alloc(0);
      if (this.#frameLength >= frameBytes) yield* this.take();
    }
    if (from < block.length) this.#rest = Buffer.concat([this.#rest, block.subarray(from)]);
    if (this.#rest.length > longestEntry) yield* this.end();
  }

  /** What there is of a frame: for when nothing more is there to be read. */
  *take(): Generator<Buffer> {
    if (this.#frameLength === 0) return;
    const frame = Buffer.from(this.#frame);
    this.#frame = '';
    this.#frameLength = 0;
    yield frame;
  }

  /**
   * A file or the log has ended: an entry without an end was not written to its end, as on a full disk,
   * and is shown as it is.
   */
  *end(): Generator<Buffer> {
    if (this.#rest.length > 0) this.#show(`${this.#rest.toString()}\n`);
    this.#rest = Buffer.alloc(0);
    yield* this.take();
  }

  #add(line: Buffer): void {
    const text = line.toString();
    const entry = parseEntry(text);
    if (entry === undefined) {
      // Damage is shown as it is: leaving it out would be silent.
      this.#show(`${text}\n`);
      return;
    }
    const { log, stream, time } = entry;
    if (this.#sinceMs !== undefined && Date.parse(time) < this.#sinceMs) return;
    const continues = this.#inLine.get(stream) === true;
    this.#inLine.set(stream, !log.endsWith('\n'));
    this.#show(this.#timestamps && !continues ? `${fullTime(time)} ${log}` : log);
  }

  #show(text: string): void {
    this.#frame += text;
    this.#frameLength += Buffer.byteLength(text);
  }
}

function parseEntry(text: string): Entry | undefined {
  try {
    const { log, stream, time } = JSON.parse(text) as Partial<Entry>;
    return typeof log === 'string' && typeof time === 'string' ? { log, stream: String(stream), time } : undefined;
  } catch {
    return undefined;
  }
}

/** When the engine took an entry, in nanoseconds since 1970; undefined for what is none. */
export function entryTime(line: string): bigint | undefined {
  const [, seconds, fraction = ''] = timePattern.exec(parseEntry(line)?.time ?? '') ?? [];
  if (seconds === undefined) return undefined;
  return BigInt(Date.parse(`${seconds}Z`)) * 1_000_000n + BigInt(fraction.padEnd(9, '0'));
}

/**
 * The engine leaves zeros at the end of a time out, but not where it shows it: with all nine digits,
 * times compare as text.
 */
function fullTime(time: string): string {
  const [, seconds, fraction = ''] = timePattern.exec(time) ?? [];
  return seconds === undefined ? time : `${seconds}.${fraction.padEnd(9, '0')}Z`;
}
