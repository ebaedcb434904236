import { describe, expect, it } from 'vitest';
import { addressNumber } from '../../api/meta/address-range.ts';
import { parseNodePortRange, parseServiceCidr, parseServiceRanges, portsText } from './ranges.ts';

describe('the range of cluster addresses', () => {
  it('keeps its first addresses and its last for the cluster', () => {
    const { keptFor, isKept, size, spared } = parseServiceCidr('10.43.0.0/16');
    expect([size, spared]).toEqual([65_536, 256]);
    expect(keptFor(addressNumber('10.43.0.1')!)).toBe('is kept for the control plane');
    expect(keptFor(addressNumber('10.43.0.10')!)).toBe('is kept for names');
    expect(['10.43.0.0', '10.43.0.15', '10.43.0.16', '10.43.255.254', '10.43.255.255'].map((text) => isKept(addressNumber(text)!)))
      .toEqual([true, true, false, false, true]); // biome-ignore format: one row
  });

  it.each([
    ['10.43.0.0', 'must be a range of addresses'],
    ['10.43.0.0/8', 'must be the address of a network: write "10.0.0.0/8"'],
    ['10.0.0.0/11', 'must be between a /12 and a /27'],
    ['10.43.0.0/28', 'must be between a /12 and a /27'],
  ])('is refused when it is %s', (text, why) => expect(() => parseServiceCidr(text)).toThrow(why));

  it('is named by its flag in a refusal', () =>
    expect(() => parseServiceRanges({ serviceCidr: 'x' })).toThrow(/^--service-cidr "x" must be a range of addresses/));
});

describe('the range of node ports', () => {
  it('is the default one, or what is said', () => {
    expect(portsText(parseServiceRanges().ports)).toBe('30000-32767');
    expect(parseNodePortRange('20000-20000')).toMatchObject({ first: 20_000, size: 1, spared: 0 });
    expect(parseNodePortRange('30000-32767').spared).toBe(86);
  });

  it.each([
    ['30000', 'must be two ports such as "30000-32767"'],
    ['32767-30000', 'must begin with the lower port'],
    ['80-90', 'must lie between 1024 and 65535'],
    ['30000-70000', 'must lie between 1024 and 65535'],
  ])('is refused when it is %s', (text, why) => expect(() => parseNodePortRange(text)).toThrow(why));
});
