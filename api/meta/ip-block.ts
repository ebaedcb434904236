import { ipVersion, isAddressRange } from './ip.ts';

/** A range of addresses of either version: `first` is the address of its network as a number. */
export interface IpBlock {
  readonly version: 4 | 6;
  readonly first: bigint;
  /** How many bits its addresses have in common: 0 to 32, or to 128. */
  readonly length: number;
}

const BITS = { 4: 32, 6: 128 } as const;
const GROUPS = 8;

/** Reads "10.9.8.0/24" or "2001:db8::/64"; bits behind the length are passed over. Undefined for any other text. */
export function parseIpBlock(text: string): IpBlock | undefined {
  if (!isAddressRange(text)) return undefined;
  const [address = '', length = ''] = text.split('/');
  return blockAround(address, Number(length));
}

/** The block of one address; undefined for a text that is no address. */
export function blockOfAddress(text: string): IpBlock | undefined {
  const version = ipVersion(text);
  return version === 0 ? undefined : blockAround(text, BITS[version]);
}

/** Whether every address of `inner` is one of `outer`. */
export function blockContains(outer: IpBlock, inner: IpBlock): boolean {
  if (outer.version !== inner.version || outer.length > inner.length) return false;
  const shift = BigInt(BITS[outer.version] - outer.length);
  return inner.first >> shift === outer.first >> shift;
}

function blockAround(address: string, length: number): IpBlock {
  const version = address.includes(':') ? 6 : 4;
  const shift = BigInt(BITS[version] - length);
  const number = version === 4 ? numberOfV4(address) : numberOfV6(address);
  return { version, first: (number >> shift) << shift, length };
}

function numberOfV4(text: string): bigint {
  return BigInt(text.split('.').reduce((number, octet) => number * 256 + Number(octet), 0));
}

function numberOfV6(text: string): bigint {
  const [head = [], tail = []] = text.split('::').map(groupsOf);
  const zeros = Array.from({ length: GROUPS - head.length - tail.length }, () => 0n);
  return [...head, ...zeros, ...tail].reduce((number, group) => (number << 16n) | group, 0n);
}

/** The last two groups may be written as an IPv4 address. */
function groupsOf(part: string): bigint[] {
  if (part === '') return [];
  return part.split(':').flatMap((group) => {
    if (!group.includes('.')) return [BigInt(`0x${group}`)];
    const number = numberOfV4(group);
    return [number >> 16n, number & 0xffffn];
  });
}
