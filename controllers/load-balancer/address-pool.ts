import { addressNumber, addressText, parseAddressRange } from '../../api/meta/address-range.ts';

/** The addresses from which load balancers get theirs: spans that are sorted and apart. */
export interface AddressPool {
  readonly spans: readonly Span[];
  readonly size: number;
  /** As it was given. */
  readonly text: string;
}

interface Span {
  readonly first: number;
  readonly last: number;
}

/** Each address that is in use has a Lease, which is written once a second. */
export const mostAddresses = 65_536;
const mostParts = 256;
const example = '"192.0.2.10-192.0.2.20,192.0.2.32/28"';
/** "This network", loopback, and everything from multicast on. */
const unusable: readonly Span[] = [
  spanOf('0.0.0.0', '0.255.255.255'),
  spanOf('127.0.0.0', '127.255.255.255'),
  spanOf('224.0.0.0', '255.255.255.255'),
];

/**
 * Reads addresses, spans "A-B" and ranges "A/N" with commas between; empty text is no pool. Throws RangeError with a
 * clause: "must be ...".
 */
export function parseAddressPool(text: string): AddressPool | undefined {
  const parts = text.split(',').map((part) => part.trim());
  if (text.trim() === '') return undefined;
  if (parts.length > mostParts) throw new RangeError(`must have at most ${mostParts} parts, it has ${parts.length}`);
  const spans = merged(parts.map(parsePart));
  const size = spans.reduce((sum, { first, last }) => sum + last - first + 1, 0);
  if (size > mostAddresses) throw new RangeError(`must have at most ${mostAddresses} addresses, it has ${size}`);
  const wrong = spans.find((span) => unusable.some((other) => overlaps(span, other)));
  if (wrong) throw new RangeError(`must not have ${textOf(wrong)}: no host has such addresses`);
  return { spans, size, text: parts.join(',') };
}

/** What an operator says of load balancers. */
export interface LoadBalancerSettings {
  /** "192.0.2.10-192.0.2.20,192.0.2.32/28"; none when absent. */
  readonly loadBalancerAddresses?: string | undefined;
}

/** Throws RangeError with a sentence that names the flag. */
export function parseLoadBalancerPool({ loadBalancerAddresses: text = '' }: LoadBalancerSettings): AddressPool | undefined {
  try {
    return parseAddressPool(text);
  } catch (error) {
    throw error instanceof RangeError ? new RangeError(`--load-balancer-addresses ${error.message}`) : error;
  }
}

function parsePart(part: string): Span {
  if (part.includes('/')) {
    try {
      const { first, size } = parseAddressRange(part);
      return { first, last: first + size - 1 };
    } catch (error) {
      throw error instanceof RangeError ? new RangeError(`has "${part}", which ${error.message}`) : error;
    }
  }
  const [from = '', to = from, ...more] = part.split('-').map((each) => each.trim());
  const [first, last] = [addressNumber(from), addressNumber(to)];
  if (first === undefined || last === undefined || more.length > 0)
    throw new RangeError(`must be IPv4 addresses such as ${example}: "${part}" is none`);
  if (last < first) throw new RangeError(`has "${part}", which ends before it begins`);
  return { first, last };
}

function spanOf(first: string, last: string): Span {
  return { first: addressNumber(first) ?? 0, last: addressNumber(last) ?? 0 };
}

const textOf = ({ first, last }: Span): string =>
  first === last ? addressText(first) : `${addressText(first)}-${addressText(last)}`;

const overlaps = (a: Span, b: Span): boolean => a.first <= b.last && b.first <= a.last;

/** Sorted, with what overlaps or touches as one. */
function merged(spans: readonly Span[]): Span[] {
  const out: Span[] = [];
  for (const span of spans.toSorted((a, b) => a.first - b.first)) {
    const before = out.at(-1);
    if (before && span.first <= before.last + 1)
      out.splice(-1, 1, { first: before.first, last: Math.max(before.last, span.last) });
    else out.push(span);
  }
  return out;
}

export const isInPool = ({ spans }: AddressPool, address: number): boolean =>
  spans.some(({ first, last }) => address >= first && address <= last);

/** Whether it has addresses of a range. */
export const poolMeets = ({ spans }: AddressPool, range: string): boolean => {
  const { first, size } = parseAddressRange(range);
  return spans.some((span) => overlaps(span, { first, last: first + size - 1 }));
};

/**
 * The first address behind `after` that is free, in the pool's order and from its beginning at its end; undefined when
 * none is.
 */
export function freeAddress(pool: AddressPool, after: number, isTaken: (address: number) => boolean): number | undefined {
  for (const isLater of [true, false])
    for (const { first, last } of pool.spans)
      for (let address = isLater ? Math.max(first, after + 1) : first; address <= last; address++)
        if (!isTaken(address)) return address;
  return undefined;
}
