import type { Query } from './query.ts';
import type { Reply } from './upstream/reply.ts';
import { headerSize, maxPointer, maxUdpSize, rcodes, recordHeadSize } from './wire.ts';

/** What of a query goes into its response. */
export interface Asked {
  /** The query as it came. */
  readonly message: Buffer;
  /** Where its question ends. */
  readonly end: number;
  readonly hasEdns: boolean;
  readonly dnssecOk: boolean;
}

const optSize = 11;

/**
 * Writes responses, one at a time: `begin`, then records in the order of the sections, then `finish`. A record that
 * does not fit is left out with all after it, and the response says so. One object for all.
 */
export class Response {
  #out: Buffer = Buffer.alloc(0);
  #at = 0;
  #limit = 0;
  #answers = 0;
  #authorities = 0;
  #isCut = false;
  #end = 0;
  #hasEdns = false;
  #dnssecOk = false;
  /** Where the name stands that the next records belong to. */
  #owner = headerSize;

  /** Begins with the question of the query, in the client's own letters. `limit`: the most bytes it may have. */
  begin(message: Buffer, asked: Query | Asked, limit: number, out: Buffer): void {
    message.copy(out, 0, 0, asked.end);
    this.#out = out;
    this.#end = asked.end;
    this.#at = asked.end;
    this.#hasEdns = asked.hasEdns;
    this.#dnssecOk = asked.dnssecOk;
    this.#limit = Math.min(limit, out.length) - (asked.hasEdns ? optSize : 0);
    this.#answers = 0;
    this.#authorities = 0;
    this.#isCut = false;
    this.#owner = headerSize;
  }

  /** Answers, beginning with the one at `first`. */
  answer(records: readonly string[], first: number): void {
    const { length } = records;
    for (let n = 0; n < length; n++) {
      if (!this.#write(records[(first + n) % length]!, this.#owner)) return;
      this.#answers++;
    }
  }

  /** A CNAME record, made by `record`; all that comes next belongs to its target. */
  alias(record: string): void {
    const target = this.#at + recordHeadSize;
    if (!this.#write(record, this.#owner)) return;
    this.#answers++;
    this.#owner = target;
  }

  /** The SOA record of a negative answer; the zone's name begins at `zoneStart` of the question's. */
  authority(record: string, zoneStart: number): void {
    if (this.#write(record, headerSize + zoneStart)) this.#authorities++;
  }

  /**
   * The records of an upstream server. `ageSeconds` is taken off their TTLs; a stale reply has `ttlSeconds` instead.
   */
  reply({ body, base, ends, ttls, pointers, answers }: Reply, ageSeconds: number, ttlSeconds?: number): void {
    const start = this.#at;
    const shift = start - base;
    let [count, ttl, next] = [0, 0, 0];
    let size = 0;
    const isMoved = this.#owner !== headerSize;
    // A pointer that no longer reaches leaves the rest out.
    const reach = isMoved ? Math.min(this.#limit, maxPointer) : this.#limit;
    while (!this.#isCut && count < ends.length) {
      if (start + ends[count]! > reach) this.#isCut = true;
      else size = ends[count++]!;
    }
    const out = this.#out;
    body.copy(out, start, 0, size);
    for (; ttl < ttls.length && ttls[ttl]! < size; ttl++) {
      const at = start + ttls[ttl]!;
      out.writeUInt32BE(ttlSeconds ?? Math.max(0, out.readUInt32BE(at) - ageSeconds), at);
    }
    for (; isMoved && next < pointers.length && pointers[next]! < size; next++) {
      const at = start + pointers[next]!;
      const target = out.readUInt16BE(at) & maxPointer;
      const moved = target < base ? this.#owner + target - headerSize : target + shift;
      out.writeUInt16BE(0xc000 | moved, at);
    }
    this.#at = start + size;
    this.#answers += Math.min(count, answers);
    this.#authorities += Math.max(0, count - answers);
  }

  /** The header and EDNS; how many bytes the response has. */
  finish(rcode: number, isAuthoritative: boolean, isStream: boolean): number {
    const out = this.#out;
    // Id and "recursion desired" are the client's; over TCP there is no other transport to come back with.
    out[2] = 0x80 | (isAuthoritative ? 4 : 0) | (this.#isCut && !isStream ? 2 : 0) | (out[2]! & 1);
    out[3] = 0x80 | (out[3]! & 0x10) | (rcode & 15);
    out[4] = 0;
    out[5] = this.#end > headerSize ? 1 : 0;
    out.writeUInt16BE(this.#answers, 6);
    out.writeUInt16BE(this.#authorities, 8);
    out[10] = 0;
    out[11] = this.#hasEdns ? 1 : 0;
    if (this.#hasEdns) this.#writeOpt(rcode >> 4);
    return this.#at;
  }

  #writeOpt(extendedRcode: number): void {
    const [out, at] = [this.#out, this.#at];
    out[at] = 0;
    out[at + 1] = 0;
    out[at + 2] = 41;
    out[at + 3] = maxUdpSize >> 8;
    out[at + 4] = maxUdpSize & 0xff;
    out[at + 5] = extendedRcode;
    out[at + 6] = 0;
    out[at + 7] = this.#dnssecOk ? 0x80 : 0;
    out[at + 8] = 0;
    out[at + 9] = 0;
    out[at + 10] = 0;
    this.#at = at + optSize;
  }

  #write(record: string, owner: number): boolean {
    if (this.#isCut || this.#at + record.length > this.#limit || owner > maxPointer) {
      this.#isCut = true;
      return false;
    }
    const [out, at] = [this.#out, this.#at];
    out.write(record, at, 'latin1');
    if (owner !== headerSize) {
      out[at] = 0xc0 | (owner >> 8);
      out[at + 1] = owner & 0xff;
    }
    this.#at = at + record.length;
    return true;
  }
}

/** The answer to a query that cannot be read: its header and nothing else. */
export function writeError(message: Buffer, rcode: number, out: Buffer): number {
  message.copy(out, 0, 0, headerSize);
  out[2] = 0x80 | (out[2]! & 0x79);
  out[3] = rcode & 15;
  out.fill(0, 4, headerSize);
  if (rcode !== rcodes.badVers) return headerSize;
  // The upper bits of this rcode are in the EDNS record.
  out[11] = 1;
  const opt = [0, 0, 41, maxUdpSize >> 8, maxUdpSize & 0xff, rcode >> 4, 0, 0, 0, 0, 0];
  for (const [n, byte] of opt.entries()) out[headerSize + n] = byte;
  return headerSize + optSize;
}
