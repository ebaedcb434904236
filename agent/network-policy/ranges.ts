import { addressText, parseAddressRange, rangeAround } from '../../api/meta/address-range.ts';
import { ipVersion, isAddressRange } from '../../api/meta/ip.ts';

/** Whole numbers from `first` to `last`. */
export interface Range {
  readonly first: number;
  readonly last: number;
}

/** A range of ports of one protocol: "tcp", "udp" or "sctp". */
export interface PortRange extends Range {
  readonly protocol: string;
}

const lastAddress = 2 ** 32 - 1;
export const lastPort = 65_535;

/** Sorted, without overlaps; neighbours are one. */
export function mergeRanges(ranges: readonly Range[]): Range[] {
  const merged: { first: number; last: number }[] = [];
  for (const { first, last } of ranges.toSorted((a, b) => a.first - b.first)) {
    const before = merged.at(-1);
    if (before !== undefined && first <= before.last + 1) before.last = Math.max(before.last, last);
    else merged.push({ first, last });
  }
  return merged;
}

/** The same of ports, by protocol. */
export function mergePorts(ports: readonly PortRange[]): PortRange[] {
  const protocols = [...new Set(ports.map(({ protocol }) => protocol))].toSorted();
  return protocols.flatMap((protocol) =>
    mergeRanges(ports.filter((port) => port.protocol === protocol)).map((range) => ({ protocol, ...range })),
  );
}

/** What is left of a range without some parts. */
export function subtractRanges(whole: Range, holes: readonly Range[]): Range[] {
  const left: Range[] = [];
  let next = whole.first;
  for (const hole of mergeRanges(holes)) {
    if (hole.first > next) left.push({ first: next, last: Math.min(whole.last, hole.first - 1) });
    next = Math.max(next, hole.last + 1);
  }
  if (next <= whole.last) left.push({ first: next, last: whole.last });
  return left.filter(({ first, last }) => first <= last);
}

/** The addresses of "10.0.0.0/8"; undefined for what is no range of IPv4. Bits behind the length are passed over. */
export function addressesOf(cidr: string): Range | undefined {
  const [address = '', length = ''] = cidr.split('/');
  if (!isAddressRange(cidr) || ipVersion(address) !== 4) return undefined;
  const { first, size } = rangeAround(parseAddressRange(`${address}/32`).first, Number(length));
  return { first, last: first + size - 1 };
}

/** Whether these are all addresses that there are. */
export const isEverywhere = ([range, more]: readonly Range[]): boolean =>
  range !== undefined && more === undefined && range.first === 0 && range.last === lastAddress;

const textOf = ({ first, last }: Range, text: (number: number) => string): string =>
  first === last ? text(first) : `${text(first)}-${text(last)}`;

/** As nft writes it: "10.0.0.0-10.0.0.255". */
export const addressesText = (range: Range): string => textOf(range, addressText);
/** As nft writes it in a set of protocols and ports: "tcp . 80-90". */
export const portsText = ({ protocol, ...range }: PortRange): string => `${protocol} . ${textOf(range, String)}`;
