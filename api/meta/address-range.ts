import { ipVersion, isAddressRange } from './ip.ts';

/** A range of IPv4 addresses, as numbers: `first`, and `size` of them. `text` is its network: "10.42.0.0/16". */
export interface AddressRange {
  readonly text: string;
  readonly first: number;
  readonly size: number;
  /** How many bits its addresses have in common, 0 to 32. */
  readonly length: number;
}

const BITS = 32;
const OCTETS = [24, 16, 8, 0] as const;

/** An IPv4 address as a number; undefined for any other text. */
export function addressNumber(text: string): number | undefined {
  if (ipVersion(text) !== 4) return undefined;
  return text.split('.').reduce((number, octet) => number * 256 + Number(octet), 0);
}

export function addressText(number: number): string {
  return OCTETS.map((shift) => Math.floor(number / 2 ** shift) % 256).join('.');
}

/** The range of that many common bits in which an address is. */
export function rangeAround(address: number, length: number): AddressRange {
  const size = 2 ** (BITS - length);
  const first = address - (address % size);
  return { text: `${addressText(first)}/${length}`, first, size, length };
}

/**
 * Reads "10.42.0.0/16", of which no bit behind the length may be set. Throws RangeError with the reason as a clause:
 * "must be ...".
 */
export function parseAddressRange(text: string): AddressRange {
  const [address = '', length = ''] = text.split('/');
  if (!isAddressRange(text)) throw new RangeError('must be a range of addresses such as "10.42.0.0/16"');
  const number = addressNumber(address);
  if (number === undefined) throw new RangeError('must be a range of IPv4 addresses: IPv6 is not there yet');
  const range = rangeAround(number, Number(length));
  if (range.first !== number) throw new RangeError(`must be the address of a network: write "${range.text}"`);
  return range;
}

export function isInRange({ first, size }: AddressRange, address: number): boolean {
  return address >= first && address < first + size;
}

/** Whether two ranges have an address in common: then one contains the other. */
export function overlap(a: AddressRange, b: AddressRange): boolean {
  return a.first < b.first + b.size && b.first < a.first + a.size;
}
