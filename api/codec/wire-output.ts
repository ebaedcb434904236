import { varintSize, writeVarint } from './wire-format.ts';

const startBytes = 16 * 1024;
/** A buffer that grew beyond this for a large message is not kept. */
const keptBytes = 256 * 1024;
/** Longer texts are written by the system, which has more to do for each call. */
const shortText = 64;

/**
 * Where the compiled encoders (message-compiler.ts) write, from the end to the beginning: so the length of a message is
 * known when its place comes, and one pass makes no garbage. Synchronous, so one for all is enough.
 */
export class WireOutput {
  private buffer = Buffer.allocUnsafeSlow(startBytes);
  /** What is behind it is written. */
  private at = startBytes;

  /** How much was written since the last `take`. */
  get size(): number {
    return this.buffer.length - this.at;
  }

  /** What was written since the last call, as a copy. */
  take(): Buffer {
    const result = Buffer.allocUnsafe(this.size);
    this.buffer.copy(result, 0, this.at);
    this.reset();
    return result;
  }

  /** Throws away what a failed encoder left. */
  reset(): void {
    if (this.buffer.length > keptBytes) this.buffer = Buffer.allocUnsafeSlow(startBytes);
    this.at = this.buffer.length;
  }

  uint32(value: number): void {
    this.reserve(5);
    if (value >= 0 && value < 0x80) {
      this.buffer[--this.at] = value;
      return;
    }
    if (value !== value >>> 0) throw new RangeError(`${value} is no 32-bit number`);
    this.at -= varintSize(value);
    writeVarint(this.buffer, this.at, value);
  }

  int32(value: number): void {
    if (value !== (value | 0)) throw new RangeError(`${value} is no 32-bit number`);
    if (value >= 0) this.uint32(value);
    else this.int64(value);
  }

  int64(value: number): void {
    if (value >= 0 && value <= 0xffff_ffff) {
      this.uint32(value);
      return;
    }
    // Of anything else no byte, or others than were meant, would stand behind the tag.
    if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is no integer of at most 53 bits`);
    this.reserve(10);
    let low = value >>> 0;
    let high = Math.floor(value / 0x1_0000_0000) >>> 0;
    const size = Math.ceil((64 - leadingZeros(low, high)) / 7);
    this.at -= size;
    for (let i = 0; i < size; i++) {
      this.buffer[this.at + i] = (low & 0x7f) | (i < size - 1 ? 0x80 : 0);
      low = ((low >>> 7) | (high << 25)) >>> 0;
      high >>>= 7;
    }
  }

  bool(value: boolean): void {
    this.uint32(value ? 1 : 0);
  }

  double(value: number): void {
    this.reserve(8);
    this.at -= 8;
    this.buffer.writeDoubleLE(value, this.at);
  }

  string(value: string): void {
    if (value.length < shortText && this.ascii(value)) return;
    const length = Buffer.byteLength(value);
    this.reserve(length);
    this.at -= length;
    this.buffer.write(value, this.at, length);
    this.uint32(length);
  }

  bytes(value: Uint8Array): void {
    this.reserve(value.length);
    this.at -= value.length;
    this.buffer.set(value, this.at);
    this.uint32(value.length);
  }

  /** Whether the text was one of ASCII characters and is written. */
  private ascii(value: string): boolean {
    this.reserve(shortText);
    const { buffer } = this;
    let at = this.at;
    for (let i = value.length - 1; i >= 0; i--) {
      const code = value.charCodeAt(i);
      if (code > 0x7f) return false;
      buffer[--at] = code;
    }
    this.at = at;
    this.uint32(value.length);
    return true;
  }

  private reserve(size: number): void {
    if (this.at < size) this.grow(size);
  }

  private grow(size: number): void {
    const written = this.size;
    const larger = Buffer.allocUnsafeSlow(2 * (this.buffer.length + size));
    this.buffer.copy(larger, larger.length - written, this.at);
    this.buffer = larger;
    this.at = larger.length - written;
  }
}

/** Of a 64-bit number in two halves. */
function leadingZeros(low: number, high: number): number {
  return high === 0 ? 32 + Math.clz32(low) : Math.clz32(high);
}
