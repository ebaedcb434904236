import { ipVersion, isAddressRange } from '../../api/meta/ip.ts';

/** A range of IPv4 addresses, as "10.42.3.0/24" says it. */
export interface Range {
  /** The lowest address, as a number. */
  readonly first: number;
  readonly prefix: number;
  readonly size: number;
}

/** Throws an Error that says what is wrong: not a range, an IPv6 one, or one with bits set behind its prefix. */
export function parseRange(text: string): Range {
  const [address = '', length = ''] = text.split('/');
  if (!isAddressRange(text) || ipVersion(address) !== 4)
    throw new Error(`"${text}" is no range of IPv4 addresses such as 10.42.0.0/24`);
  const prefix = Number(length);
  const size = 2 ** (32 - prefix);
  const first = numberOf(address);
  if (first % size !== 0)
    throw new Error(`"${text}" has bits set behind its prefix: write ${addressOf(first - (first % size))}/${prefix}`);
  return { first, prefix, size };
}

export const formatRange = ({ first, prefix }: Range): string => `${addressOf(first)}/${prefix}`;

/** An address as a number from 0 to 2^32 - 1. The text must be an address. */
export function numberOf(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}

export function addressOf(number: number): string {
  return [24, 16, 8, 0].map((bits) => Math.floor(number / 2 ** bits) % 256).join('.');
}

export function contains(range: Range, address: string): boolean {
  const at = ipVersion(address) === 4 ? numberOf(address) - range.first : -1;
  return at >= 0 && at < range.size;
}

export function overlap(a: Range, b: Range): boolean {
  return a.first < b.first + b.size && b.first < a.first + a.size;
}
