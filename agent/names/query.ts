import { headerSize, maxNameLength, plainUdpSize, rcodes, types } from './wire.ts';

/** No answer at all: what arrived is no query. */
export const drop = -1;
/** More records than any client adds to a query (EDNS, a signature). */
const maxAdditional = 4;

/**
 * Reads queries, one at a time: its fields are those of the last one that `read` called good. One object for all, so
 * that a query costs nothing but its key.
 */
export class Query {
  key = '';
  type = 0;
  class = 0;
  /** Where the question ends in the message. */
  end = 0;
  recursionDesired = false;
  checkingDisabled = false;
  hasEdns = false;
  dnssecOk = false;
  /** The most bytes that the client takes over UDP, as it says. */
  udpSize = plainUdpSize;
  #message: Buffer = Buffer.alloc(0);
  readonly #lower = Buffer.alloc(maxNameLength);

  /** 0 for a good query; else `drop`, or the rcode of the answer to it. Reads what any bytes may be; never throws. */
  read(message: Buffer): number {
    if (message.length < headerSize || (message[2]! & 0x80) !== 0) return drop;
    this.hasEdns = false;
    this.dnssecOk = false;
    this.udpSize = plainUdpSize;
    this.recursionDesired = (message[2]! & 1) !== 0;
    this.checkingDisabled = (message[3]! & 0x10) !== 0;
    if ((message[2]! & 0x78) !== 0) return rcodes.notImp;
    // One question, no answers and authorities.
    if (message[4] !== 0 || message[5] !== 1 || message.readInt32BE(6) !== 0) return rcodes.formErr;
    this.#message = message;
    const nameEnd = this.#readName();
    if (nameEnd < 0 || nameEnd + 4 > message.length) return rcodes.formErr;
    this.type = message.readUInt16BE(nameEnd);
    this.class = message.readUInt16BE(nameEnd + 2);
    this.end = nameEnd + 4;
    const additional = message.readUInt16BE(10);
    return additional === 0 ? 0 : this.#readAdditional(additional);
  }

  /** The name may not point anywhere: there is nothing before it. */
  #readName(): number {
    const [message, lower] = [this.#message, this.#lower];
    let at = headerSize;
    for (;;) {
      const length = message[at];
      if (length === undefined || length > 63 || at + length + 1 - headerSize >= maxNameLength) return -1;
      lower[at - headerSize] = length;
      if (length === 0) break;
      const end = at + length + 1;
      if (end > message.length) return -1;
      for (at++; at < end; at++) {
        const byte = message[at]!;
        lower[at - headerSize] = byte >= 65 && byte <= 90 ? byte + 32 : byte;
      }
    }
    this.key = lower.toString('latin1', 0, at + 1 - headerSize);
    return at + 1;
  }

  #readAdditional(count: number): number {
    const message = this.#message;
    if (count > maxAdditional) return rcodes.formErr;
    let at = this.end;
    for (let n = 0; n < count; n++) {
      const owner = at;
      at = skipName(message, at);
      if (at < 0 || at + 10 > message.length) return rcodes.formErr;
      const dataEnd = at + 10 + message.readUInt16BE(at + 8);
      if (dataEnd > message.length) return rcodes.formErr;
      if (message.readUInt16BE(at) === types.opt) {
        // One, and its owner is the root (RFC 6891, 6.1.1).
        if (this.hasEdns || message[owner] !== 0) return rcodes.formErr;
        this.hasEdns = true;
        this.udpSize = Math.max(plainUdpSize, message.readUInt16BE(at + 2));
        this.dnssecOk = (message[at + 6]! & 0x80) !== 0;
        if (message[at + 5] !== 0) return rcodes.badVers;
      }
      at = dataEnd;
    }
    return 0;
  }
}

/** Where a name ends; -1 when it is broken. A pointer leads to what was before, or is broken. */
export function skipName(message: Buffer, start: number): number {
  let at = start;
  for (;;) {
    const length = message[at];
    if (length === undefined || at - start > maxNameLength) return -1;
    if (length === 0) return at + 1;
    if (length < 64) {
      at += length + 1;
      continue;
    }
    if (length < 0xc0 || at + 2 > message.length) return -1;
    const target = ((length & 0x3f) << 8) | message[at + 1]!;
    return target >= headerSize && target < at ? at + 2 : -1;
  }
}
