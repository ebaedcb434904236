import type { IntOrString } from '../generated/types.ts';
import { toRfc3339, truncatedTime } from '../meta/time.ts';
import { type JsonOutput, MOST_OF_A_BYTE, viewOf } from './json-output.ts';
import { durationCodec, intOrStringCodec } from './scalars.ts';
import { LENGTH_DELIMITED, tagOf, VARINT } from './wire-format.ts';
import { WireInput } from './wire-input.ts';

/** Bytes that this way does not read: a message that comes in two parts, for one. Our own encoder writes none. */
export class NotPlain extends Error {}

/** What is not read here. */
export function notPlain(): never {
  throw new NotPlain();
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [NEWLINE, RETURN] = [0x0a, 0x0d];
const DAY_SECONDS = 86_400;
const TEXT = tagOf(1, LENGTH_DELIMITED);

/** Members that are written into an entry of managedFields behind those that its bytes have. */
export interface AddedMembers {
  /** Where the entry ends. */
  readonly end: number;
  /** Writes them, each with its comma; leaves the input where it was. */
  write(input: JsonCopy, out: JsonOutput): void;
}

/** Encoded values that are copied as JSON, one after the other, without strings in between where they are text. */
export class JsonCopy extends WireInput {
  readonly #out: JsonOutput;
  readonly #view: DataView;
  /** The two numbers that times and durations are, of the last one that was read. */
  #seconds = 0;
  #nanos = 0;
  readonly added: AddedMembers | undefined;

  constructor(bytes: Uint8Array, out: JsonOutput, added?: AddedMembers) {
    super(bytes, false);
    this.added = added;
    this.#out = out;
    this.#view = viewOf(this.buffer);
  }

  /** Whether a field with the tag comes next; passes over the tag. */
  isNext(tag: number, end: number): boolean {
    if (this.at >= end) return false;
    const before = this.at;
    if (this.uint32() === tag) return true;
    this.at = before;
    return false;
  }

  /** Whether the next bytes are those of another input from there. */
  isSame(other: JsonCopy, from: number, length: number): boolean {
    const [here, there] = [this.#view, other.#view];
    const { at } = this;
    let i = 0;
    for (; i + 4 <= length; i += 4) if (here.getInt32(at + i) !== there.getInt32(from + i)) return false;
    for (; i < length; i++) if (here.getInt8(at + i) !== there.getInt8(from + i)) return false;
    return true;
  }

  copyString(end: number): void {
    this.copyText(this.enter(end));
  }

  /** The text that ends there. Stored texts are UTF-8, of which JSON escapes nothing but ASCII. */
  copyText(to: number): void {
    const out = this.#out;
    out.room((to - this.at) * MOST_OF_A_BYTE + 2);
    const { buffer } = this;
    const from = this.#view;
    const { bytes, view } = out;
    let { at } = this;
    let size = out.size;
    bytes[size++] = QUOTE;
    while (at < to) {
      // Four bytes at once, as long as none of them is a control character, a quotation mark or a backslash.
      while (at + 4 <= to) {
        const word = from.getUint32(at, true);
        const quotes = word ^ 0x22222222;
        const slashes = word ^ 0x5c5c5c5c;
        const special = ((word - 0x20202020) & ~word) | ((quotes - 0x01010101) & ~quotes) | ((slashes - 0x01010101) & ~slashes);
        if ((special & 0x80808080) !== 0) break;
        view.setUint32(size, word, true);
        size += 4;
        at += 4;
      }
      for (const stop = Math.min(to, at + 4); at < stop; at++) {
        const byte = buffer[at]!;
        if (byte >= 0x20 && byte !== QUOTE && byte !== 0x5c) {
          bytes[size++] = byte;
          continue;
        }
        out.size = size;
        out.escape(byte);
        size = out.size;
      }
    }
    bytes[size++] = QUOTE;
    out.size = size;
    this.at = to;
  }

  /** The text that ends there as a part of a text that is JSON itself: with its quotation marks, escaped twice. */
  copyInnerText(to: number): void {
    const out = this.#out;
    const [from, start] = [this.at, out.size];
    out.put(BACKSLASH);
    this.copyText(to);
    if (out.size - start - 3 === to - from) {
      // Nothing of it needs an escape.
      out.bytes[out.size - 1] = BACKSLASH;
      out.put(QUOTE);
      return;
    }
    const text = out.bytes.toString(undefined, start + 1, out.size);
    out.size = start;
    out.json(JSON.stringify(text).slice(1, -1));
  }

  /** Passes over a value. */
  pass(wire: number, end: number): void {
    this.skipValue(wire, wire === LENGTH_DELIMITED ? this.uint32() : 0, end);
  }

  copyBool(): void {
    this.#out.ascii(this.bool() ? 'true' : 'false');
  }

  copyInt32(): void {
    this.#out.integer(this.int32());
  }

  copyUint32(): void {
    this.#out.integer(this.uint32());
  }

  copyInt64(): void {
    this.#out.integer(this.int64());
  }

  copyDouble(end: number): void {
    const value = this.double(end);
    this.#out.ascii(Number.isFinite(value) ? String(value) : JSON.stringify(String(value)));
  }

  copyBytes(end: number): void {
    const to = this.enter(end);
    const out = this.#out;
    const text = this.buffer.toString('base64', this.at, to);
    out.room(text.length + 2);
    out.put(QUOTE);
    out.size += out.bytes.write(text, out.size, 'latin1');
    out.put(QUOTE);
    this.at = to;
  }

  /** A JSON document that is carried as bytes, on one line. Of an empty one nothing is written. */
  copyRaw(end: number): void {
    const to = this.enter(end);
    const out = this.#out;
    const raw = this.buffer.subarray(this.at, to);
    this.at = to;
    if (raw.includes(NEWLINE) || raw.includes(RETURN)) {
      out.json(JSON.stringify(JSON.parse(raw.toString())));
      return;
    }
    out.room(raw.length);
    out.bytes.set(raw, out.size);
    out.size += raw.length;
  }

  /** The members of a JSON object that is carried as bytes, each with its comma. */
  copyMembers(end: number): void {
    const to = this.enter(end);
    const text = this.buffer.toString(undefined, this.at, to);
    const line = text.includes('\n') || text.includes('\r') ? JSON.stringify(JSON.parse(text)) : text;
    const inner = line.trim().slice(1, -1).trim();
    if (inner !== '') this.#out.json(`${inner},`);
    this.at = to;
  }

  /** FieldsV1 and RawExtension: the JSON object in their only member. */
  copyRawMember(end: number): void {
    const to = this.enter(end);
    if (this.at < to) {
      if (this.uint32() !== TEXT) notPlain();
      this.copyRaw(to);
    }
    if (this.at !== to) notPlain();
  }

  copyQuantity(end: number): void {
    const to = this.enter(end);
    if (this.at === to) this.#out.ascii('"0"');
    else if (this.uint32() === TEXT) this.copyString(to);
    else notPlain();
    if (this.at !== to) notPlain();
  }

  /** Kubernetes' ExtraValue: a list of texts. */
  copyTexts(end: number): void {
    const to = this.enter(end);
    const out = this.#out;
    out.put(0x5b);
    while (this.isNext(TEXT, to)) {
      this.copyString(to);
      out.comma();
    }
    if (this.at !== to) notPlain();
    out.close(0x5d);
  }

  copyIntOrString(end: number): void {
    const to = this.enter(end);
    const value: IntOrString = {};
    while (this.at < to) {
      const tag = this.uint32();
      if (tag === tagOf(1, VARINT)) value.type = this.int64();
      else if (tag === tagOf(2, VARINT)) value.intVal = this.int32();
      else if (tag === tagOf(3, LENGTH_DELIMITED)) value.strVal = this.string(to);
      else notPlain();
    }
    this.leave(to);
    const json = intOrStringCodec.write(value);
    if (typeof json === 'number') this.#out.integer(json);
    else this.#out.json(JSON.stringify(json));
  }

  copyTime(end: number): void {
    this.#readPair(end);
    const seconds = this.#seconds;
    if (seconds >= 0 && seconds < 253402300800) this.#second(seconds);
    else this.#out.ascii(`"${toRfc3339({ seconds })}"`);
  }

  copyMicroTime(end: number): void {
    this.#readPair(end);
    this.#out.ascii(`"${toRfc3339(truncatedTime({ seconds: this.#seconds, nanos: this.#nanos }, 6), 6)}"`);
  }

  copyDuration(end: number): void {
    this.#readPair(end);
    this.#out.ascii(`"${durationCodec.write({ seconds: this.#seconds, nanos: this.#nanos }) as string}"`);
  }

  /** The times of objects in a list are often of few days, whose texts are known. */
  #second(seconds: number): void {
    const day = Math.floor(seconds / DAY_SECONDS);
    let text = days.get(day);
    if (text === undefined) {
      text = `"${toRfc3339({ seconds }, 0).slice(0, 11)}`;
      if (days.size >= MOST_DAYS) days.clear();
      days.set(day, text);
    }
    const out = this.#out;
    out.ascii(text);
    out.room(10);
    const rest = seconds - day * DAY_SECONDS;
    this.#twoDigits((rest / 3600) | 0);
    out.put(0x3a);
    this.#twoDigits(((rest / 60) | 0) % 60);
    out.put(0x3a);
    this.#twoDigits(rest % 60);
    out.put(0x5a);
    out.put(QUOTE);
  }

  #twoDigits(value: number): void {
    const tens = (value / 10) | 0;
    this.#out.put(0x30 + tens);
    this.#out.put(0x30 + value - tens * 10);
  }

  #readPair(end: number): void {
    const to = this.enter(end);
    this.#seconds = 0;
    this.#nanos = 0;
    while (this.at < to) {
      const tag = this.uint32();
      if (tag === tagOf(1, VARINT)) this.#seconds = this.int64();
      else if (tag === tagOf(2, VARINT)) this.#nanos = this.int32();
      else notPlain();
    }
    this.leave(to);
  }
}

/** By days since 1970: what stands before the time of day. */
const days = new Map<number, string>();
const MOST_DAYS = 100;
