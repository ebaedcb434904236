import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressOf, contains, formatRange, numberOf, overlap, parseRange } from './ipv4.ts';
import { isOurs, linkNameOf, macOf, tagOf } from './link-commands.ts';
import { linkTo } from './node-routes.ts';

describe('parseRange', () => {
  it.each([
    ['10.42.1.0', '"10.42.1.0" is no range of IPv4 addresses such as 10.42.0.0/24'],
    ['10.42.1.0/33', 'is no range'],
    ['fd00::/64', 'is no range'],
    ['10.42.1.7/24', '"10.42.1.7/24" has bits set behind its prefix: write 10.42.1.0/24'],
  ])('refuses %s', (text, words) => expect(() => parseRange(text)).toThrow(words));

  it('is undone by formatRange', () => {
    for (const text of ['0.0.0.0/0', '10.42.1.0/24', '255.255.255.255/32']) expect(formatRange(parseRange(text))).toBe(text);
  });
});

it('reads back each address that it writes', () => {
  fc.assert(fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), (number) => numberOf(addressOf(number)) === number));
});

it('knows what is in a range', () => {
  const range = parseRange('10.42.1.0/24');
  expect(['10.42.1.0', '10.42.1.255', '10.42.2.0', '10.42.0.255', 'x', '::1'].map((each) => contains(range, each))).toEqual([
    ...[true, true, false, false, false, false],
  ]);
});

it.each([
  ['10.42.0.0/16', '10.42.9.0/24', true],
  ['10.42.0.0/24', '10.42.1.0/24', false],
  ['10.42.1.0/24', '10.42.0.0/24', false],
  ['0.0.0.0/0', '255.0.0.0/8', true],
])('says of %s and %s whether they share an address: %s', (a, b, shared) => {
  expect(overlap(parseRange(a), parseRange(b))).toBe(shared);
});

it('gives each link a name of 15 characters that says nothing of others', () => {
  const owner = { dataDir: '/d', nodeName: 'n' };
  const ifname = linkNameOf(owner, '10.42.1.2');
  expect(ifname).toMatch(/^bth[0-9a-f]{12}$/);
  expect(ifname).not.toBe(linkNameOf({ ...owner, nodeName: 'm' }, '10.42.1.2'));
  expect(isOurs({ ifname, ifalias: `berth ${tagOf(owner)}` }, owner)).toBe(true);
  expect(isOurs({ ifname, ifalias: `berth ${tagOf({ ...owner, nodeName: 'm' })}` }, owner)).toBe(false);
  expect(isOurs({ ifname: 'veth123', ifalias: `berth ${tagOf(owner)}` }, owner)).toBe(false);
});

it('computes hardware addresses that are no vendor’s', () => expect(macOf('10.42.1.2')).toBe('0a:58:0a:2a:01:02'));

it.each([
  ['[{"dst":"10.0.0.2","dev":"eth0","prefsrc":"10.0.0.1"}]', 'eth0'],
  ['[{"dst":"10.9.0.2","gateway":"10.0.0.254","dev":"eth0"}]', undefined],
  ['[{"type":"local","dst":"10.0.0.1","dev":"lo"}]', undefined],
  ['[]', undefined],
])('reads of %s the link to a neighbour', (answer, dev) => expect(linkTo(answer)).toBe(dev));
