import { type AddressRange, overlap, parseAddressRange, rangeAround } from '../../api/meta/address-range.ts';

/** Private addresses (RFC 1918), in the order in which they are proposed. */
const privateRanges = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'].map(parseAddressRange);

/**
 * Up to `count` private ranges of that many common bits that have no address in common with any of `taken`, nor with
 * one another. Pure.
 */
export function proposeRanges(length: number, taken: readonly AddressRange[], count: number): AddressRange[] {
  const proposed: AddressRange[] = [];
  for (const whole of privateRanges.filter((range) => range.length <= length)) {
    let next = whole.first;
    while (next < whole.first + whole.size && proposed.length < count) {
      const range = rangeAround(next, length);
      const inTheWay = taken.filter((each) => overlap(each, range));
      if (inTheWay.length === 0) proposed.push(range);
      // Behind all of what is in the way at once: there may be many addresses.
      next = Math.max(range.first + range.size, ...inTheWay.map(({ first, size }) => alignUp(first + size, range.size)));
    }
  }
  return proposed;
}

const alignUp = (address: number, size: number): number => Math.ceil(address / size) * size;

/** Of destinations as `ip route` has them: "10.0.0.0/8", "10.0.0.1"; "default" and IPv6 are none. */
export function rangesOfRoutes(destinations: readonly string[]): AddressRange[] {
  return destinations.flatMap((text) => {
    const [address = '', length = '32'] = text.split('/');
    try {
      const { first } = parseAddressRange(`${address}/32`);
      return [rangeAround(first, Number(length))];
    } catch {
      return [];
    }
  });
}
