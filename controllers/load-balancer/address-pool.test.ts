import { describe, expect, it } from 'vitest';
import { addressNumber, addressText } from '../../api/meta/address-range.ts';
import { freeAddress, isInPool, parseAddressPool, poolMeets } from './address-pool.ts';

const pool = (text: string) => {
  const parsed = parseAddressPool(text);
  if (!parsed) throw new Error('no pool');
  return parsed;
};
const number = (text: string): number => addressNumber(text) ?? Number.NaN;

describe('a pool of addresses', () => {
  it('has single addresses, spans and ranges, what overlaps once', () => {
    const { spans, size } = pool('192.0.2.32/30, 192.0.2.10-192.0.2.12,192.0.2.12-192.0.2.13,192.0.2.99');
    expect(spans.map(({ first, last }) => [addressText(first), addressText(last)])).toEqual([
      ['192.0.2.10', '192.0.2.13'],
      ['192.0.2.32', '192.0.2.35'],
      ['192.0.2.99', '192.0.2.99'],
    ]);
    expect(size).toBe(9);
  });

  it('is none where nothing is given', () => expect(parseAddressPool('')).toBeUndefined());

  it.each([
    ['192.0.2.20-192.0.2.10', 'has "192.0.2.20-192.0.2.10", which ends before it begins'],
    ['192.0.2.1/28', 'has "192.0.2.1/28", which must be the address of a network: write "192.0.2.0/28"'],
    ['fd00::/64', 'has "fd00::/64", which must be a range of IPv4 addresses: IPv6 is not there yet'],
    ['192.0.2.1,,192.0.2.2', 'must be IPv4 addresses such as "192.0.2.10-192.0.2.20,192.0.2.32/28": "" is none'],
    ['192.0.2.1-2-3', 'must be IPv4 addresses such as "192.0.2.10-192.0.2.20,192.0.2.32/28": "192.0.2.1-2-3" is none'],
    ['10.0.0.0/8', 'must have at most 65536 addresses, it has 16777216'],
    ['126.255.255.255-127.0.0.1', 'must not have 126.255.255.255-127.0.0.1: no host has such addresses'],
    ['224.0.0.5', 'must not have 224.0.0.5: no host has such addresses'],
    [Array.from({ length: 257 }, (_, i) => `10.0.${i % 256}.1`).join(','), 'must have at most 256 parts, it has 257'],
  ])('refuses %s', (text, sentence) => expect(() => parseAddressPool(text)).toThrow(new RangeError(sentence)));

  it('knows what is in it', () => {
    const both = pool('192.0.2.10-192.0.2.11,192.0.2.20');
    expect(['192.0.2.9', '192.0.2.10', '192.0.2.12', '192.0.2.20'].map((each) => isInPool(both, number(each)))).toEqual([
      ...[false, true, false, true],
    ]);
    expect([poolMeets(both, '192.0.2.16/28'), poolMeets(both, '10.0.0.0/8')]).toEqual([true, false]);
  });

  it('gives the next free address behind another, and begins again at its end', () => {
    const both = pool('192.0.2.10-192.0.2.11,192.0.2.20');
    const next = (after: string, ...taken: string[]) => {
      const found = freeAddress(both, number(after), (address) => taken.includes(addressText(address)));
      return found === undefined ? undefined : addressText(found);
    };
    expect(next('0.0.0.0')).toBe('192.0.2.10');
    expect(next('192.0.2.10')).toBe('192.0.2.11');
    expect(next('192.0.2.11')).toBe('192.0.2.20');
    expect(next('192.0.2.20')).toBe('192.0.2.10');
    expect(next('192.0.2.11', '192.0.2.20', '192.0.2.10')).toBe('192.0.2.11');
    expect(next('0.0.0.0', '192.0.2.20', '192.0.2.10', '192.0.2.11')).toBeUndefined();
  });
});
