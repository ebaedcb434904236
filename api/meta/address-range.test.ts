import { describe, expect, it } from 'vitest';
import { addressNumber, addressText, isInRange, overlap, parseAddressRange, rangeAround } from './address-range.ts';

describe('a range of addresses', () => {
  it('is read from its text', () => {
    const range = parseAddressRange('10.42.0.0/16');
    expect(range).toEqual({ text: '10.42.0.0/16', first: 0x0a2a0000, size: 65_536, length: 16 });
    expect(parseAddressRange('0.0.0.0/0').size).toBe(2 ** 32);
    expect(parseAddressRange('255.255.255.255/32').first).toBe(2 ** 32 - 1);
  });

  it.each([
    ['10.42.0.0', 'must be a range of addresses such as "10.42.0.0/16"'],
    ['10.42.0.0/33', 'must be a range of addresses such as "10.42.0.0/16"'],
    ['fd00::/8', 'must be a range of IPv4 addresses: IPv6 is not there yet'],
    ['10.42.3.0/16', 'must be the address of a network: write "10.42.0.0/16"'],
  ])('is refused when it is %s', (text, why) => expect(() => parseAddressRange(text)).toThrow(why));

  it('has the addresses from its first to its last', () => {
    const range = parseAddressRange('192.168.255.0/24');
    const is = (text: string) => isInRange(range, addressNumber(text)!);
    expect([is('192.168.254.255'), is('192.168.255.0'), is('192.168.255.255'), is('193.0.0.0')]).toEqual([
      false,
      true,
      true,
      false,
    ]);
    expect(addressText(range.first + range.size - 1)).toBe('192.168.255.255');
    expect(rangeAround(addressNumber('192.168.255.77')!, 24)).toEqual(range);
  });

  it('overlaps another one that it contains or is in', () => {
    const all = ['10.42.0.0/16', '10.42.7.0/24', '10.43.0.0/16'].map(parseAddressRange);
    expect(all.map((a) => all.map((b) => overlap(a, b)))).toEqual([
      [true, true, false],
      [true, true, false],
      [false, false, true],
    ]);
  });

  it('has no number for other texts', () => expect(addressNumber('fd00::1')).toBeUndefined());
});
