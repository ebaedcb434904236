import { LENGTH_DELIMITED, WireError } from './wire-format.ts';
import { WireInput } from './wire-input.ts';

/**
 * Walks the fields of one message without decoding it, so that stored bytes can pass through. After `next()` returned
 * true the members describe the field that it stopped at.
 */
export class WireReader extends WireInput {
  number = 0;
  wire = 0;
  /** Where the field's tag starts. */
  tagStart = 0;
  /** Where its value starts (behind the length, for a length-delimited one). */
  valueStart = 0;
  valueEnd = 0;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    super(bytes, false, end);
    this.at = start;
  }

  /** Steps to the next field; false at the end, where the number is 0. Throws WireError where the bytes are damaged. */
  next(): boolean {
    if (this.at >= this.end) {
      this.number = 0;
      return false;
    }
    this.tagStart = this.at;
    const tag = this.uint32();
    this.number = tag >>> 3;
    this.wire = tag & 7;
    if (this.number === 0) throw new WireError('a field has the number 0');
    const length = this.wire === LENGTH_DELIMITED ? this.uint32() : 0;
    this.valueStart = this.at;
    this.skipValue(this.wire, length);
    this.valueEnd = this.at;
    return true;
  }

  value(): Buffer {
    return this.buffer.subarray(this.valueStart, this.valueEnd);
  }

  /** The field with its tag and its length. */
  whole(): Buffer {
    return this.buffer.subarray(this.tagStart, this.valueEnd);
  }

  /** Whether the value has these bytes. */
  isValue(bytes: Uint8Array): boolean {
    return this.buffer.compare(bytes, 0, bytes.length, this.valueStart, this.valueEnd) === 0;
  }

  /** The value of a varint, as its lowest 32 bits. */
  number32(): number {
    this.at = this.valueStart;
    const value = this.uint32();
    this.at = this.valueEnd;
    return value;
  }

  /** Walks the fields of the message that the field holds. */
  inner(): WireReader {
    return new WireReader(this.buffer, this.valueStart, this.valueEnd);
  }
}
