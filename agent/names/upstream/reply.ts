import { skipName } from '../query.ts';
import { rcodes, types } from '../wire.ts';

/**
 * An answer of an upstream server, without its question and its additional section (which DNS may leave out). It can be
 * written behind another question, or behind a CNAME record that leads to its own.
 */
export interface Reply {
  readonly rcode: number;
  readonly answers: number;
  readonly authorities: number;
  readonly body: Buffer;
  /** Where `body` began in its own message: right behind the question. */
  readonly base: number;
  /** Positions in `body`: the end of each record, its TTL, and each pointer of a name. */
  readonly ends: Uint16Array;
  readonly ttls: Uint16Array;
  readonly pointers: Uint16Array;
  /** How long it may be kept; 0: not at all. */
  readonly ttlSeconds: number;
}

/**
 * Names in the data of records that may be compressed (RFC 1035, and what servers compress besides): where, how many.
 */
const namesInData: Readonly<Record<number, readonly [skip: number, count: number]>> = {
  [types.ns]: [0, 1],
  [types.cname]: [0, 1],
  [types.soa]: [0, 2],
  7: [0, 1],
  8: [0, 1],
  9: [0, 1],
  [types.ptr]: [0, 1],
  14: [0, 2],
  15: [2, 1],
  17: [0, 2],
  18: [2, 1],
  21: [2, 1],
  [types.srv]: [6, 1],
  39: [0, 1],
};

/** What is not asked for again for long could not be corrected. */
const maxTtlSeconds = 3600;
const maxNegativeTtlSeconds = 600;

/** Positions, while they are found. */
interface Positions {
  readonly ends: number[];
  readonly ttls: number[];
  readonly pointers: number[];
}

/**
 * Reads a whole message whose question ends at `base` (the caller has compared it). Undefined for one that is broken:
 * what is passed on is well-formed.
 */
export function parseReply(message: Buffer, base: number): Reply | undefined {
  const [answers, authorities] = [message.readUInt16BE(6), message.readUInt16BE(8)];
  const positions: Positions = { ends: [], ttls: [], pointers: [] };
  let at = base;
  let lowest = Number.POSITIVE_INFINITY;
  let negative = 0;
  for (let n = 0; n < answers + authorities; n++) {
    const begin = readRecord(message, at, base, positions);
    if (begin < 0) return undefined;
    const end = positions.ends.at(-1)! + base;
    const ttl = Math.min(message.readUInt32BE(begin + 4), 0x7fffffff);
    if (n < answers) lowest = Math.min(lowest, ttl);
    else if (message.readUInt16BE(begin) === types.soa) negative = Math.min(ttl, message.readUInt32BE(end - 4));
    at = end;
  }
  const rcode = message[3]! & 15;
  const body = Buffer.allocUnsafeSlow(at - base);
  message.copy(body, 0, base, at);
  return {
    rcode,
    answers,
    authorities,
    body,
    base,
    ends: Uint16Array.from(positions.ends),
    ttls: Uint16Array.from(positions.ttls),
    pointers: Uint16Array.from(positions.pointers),
    ttlSeconds:
      answers > 0 && rcode === rcodes.noError
        ? Math.min(lowest, maxTtlSeconds)
        : Math.min(negative, lowest, maxNegativeTtlSeconds),
  };
}

/** Reads the record at `at` and notes its positions; where its type stands, or -1. */
function readRecord(message: Buffer, at: number, base: number, { ends, ttls, pointers }: Positions): number {
  const begin = readName(message, at, base, pointers);
  if (begin < 0 || begin + 10 > message.length) return -1;
  const data = begin + 10;
  const end = data + message.readUInt16BE(begin + 8);
  if (end > message.length) return -1;
  const type = message.readUInt16BE(begin);
  const [skip, count] = namesInData[type] ?? [0, 0];
  let name = data + skip;
  for (let n = 0; n < count; n++) {
    name = readName(message, name, base, pointers);
    if (name < 0 || name > end) return -1;
  }
  // The times of a SOA record are read from its end.
  if (type === types.soa && end - name !== 20) return -1;
  ttls.push(begin + 4 - base);
  ends.push(end - base);
  return begin;
}

/** Where a name ends, or -1; a pointer at its end is noted. */
function readName(message: Buffer, at: number, base: number, pointers: number[]): number {
  const end = skipName(message, at);
  if (end < 0) return -1;
  // A name ends with a zero byte or a pointer, whose first byte is 192 or more; no label is as long as that.
  if (end - at >= 2 && endsWithPointer(message, at, end)) pointers.push(end - 2 - base);
  return end;
}

function endsWithPointer(message: Buffer, start: number, end: number): boolean {
  let at = start;
  while (message[at]! > 0 && message[at]! < 64) at += message[at]! + 1;
  return at === end - 2 && message[at]! >= 0xc0;
}

export function isUsable({ rcode }: Reply): boolean {
  return rcode === rcodes.noError || rcode === rcodes.nxDomain;
}
