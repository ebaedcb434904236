/**
 * DNS on the wire (RFC 1035). A name is a "key" everywhere in this room: its wire form in lower case, one character per
 * byte, the root's zero byte included. Keys compare like names, and are written without being encoded again.
 */

export const types = {
  a: 1,
  ns: 2,
  cname: 5,
  soa: 6,
  ptr: 12,
  hinfo: 13,
  txt: 16,
  aaaa: 28,
  srv: 33,
  opt: 41,
  ixfr: 251,
  any: 255,
} as const;

export const rcodes = { noError: 0, formErr: 1, servFail: 2, nxDomain: 3, notImp: 4, refused: 5, badVers: 16 } as const;

export const classIn = 1;
export const headerSize = 12;
/** Of a name in wire form, and of one label (RFC 1035, 2.3.4). */
export const maxNameLength = 255;
const maxLabelLength = 63;
/** A pointer has 14 bits. */
export const maxPointer = 0x3fff;
/**
 * The largest answer over UDP, either way (the DNS flag day of 2020): no fragments, and no attacker gets more for a
 * query with a forged source.
 */
export const maxUdpSize = 1232;
/** What a client takes that says nothing else (RFC 1035, 4.2.1). */
export const plainUdpSize = 512;
export const maxMessageSize = 65_535;

/** The key of a name in dots; undefined for one that the wire cannot hold. */
export function encodeName(text: string): string | undefined {
  const bare = text.endsWith('.') ? text.slice(0, -1) : text;
  if (bare === '') return '\0';
  let key = '';
  for (const label of Buffer.from(bare.toLowerCase()).toString('latin1').split('.')) {
    if (label === '' || label.length > maxLabelLength) return undefined;
    key += String.fromCharCode(label.length) + label;
  }
  return key.length < maxNameLength ? flat(`${key}\0`) : undefined;
}

/** The same text in one piece: V8 keeps the pieces of a sum, several times its size, until it is read. */
export function flat(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

/** The labels of a key, the root left out. */
export function labelsOf(key: string): string[] {
  const labels: string[] = [];
  for (let at = 0; at < key.length && key.charCodeAt(at) > 0; at += key.charCodeAt(at) + 1)
    labels.push(key.slice(at + 1, at + 1 + key.charCodeAt(at)));
  return labels;
}

/** Where the suffix of a key begins; -1 when the key is not below or equal to it, label by label. */
export function suffixStart(key: string, suffix: string): number {
  const start = key.length - suffix.length;
  if (start < 0 || !key.endsWith(suffix)) return -1;
  let at = 0;
  while (at < start) at += key.charCodeAt(at) + 1;
  return at === start ? start : -1;
}

/** 16 bits, most significant byte first. */
export function word(value: number): string {
  return String.fromCharCode((value >> 8) & 0xff, value & 0xff);
}

function ttlText(seconds: number): string {
  return word(seconds >>> 16) + word(seconds);
}

/** A pointer to the name at `offset` of the message. */
export function pointer(offset: number): string {
  return word(0xc000 | offset);
}

const ownerIsQuestion = pointer(headerSize);

/** A record whose owner is the name that was asked for; the first two bytes are the pointer to it. */
export function record(type: number, ttlSeconds: number, data: string): string {
  return flat(ownerIsQuestion + word(type) + word(classIn) + ttlText(ttlSeconds) + word(data.length) + data);
}

/** Of a record that `record` made: what is before its data. */
export const recordHeadSize = 12;

/** Character strings of a TXT or HINFO record. */
export function texts(...parts: readonly string[]): string {
  return parts.map((part) => String.fromCharCode(part.length) + part).join('');
}
