import { isIP } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalIp, canonicalRange } from './ip.ts';

describe('the usual form of an address', () => {
  it.each([
    ['10.43.0.7', '10.43.0.7'],
    ['::', '::'],
    ['0:0:0:0:0:0:0:1', '::1'],
    ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['fe80::', 'fe80::'],
    ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
    ['::ffff:192.0.2.33', '192.0.2.33'],
    ['10.43.0', undefined],
    ['1::2::3', undefined],
  ])('of %s is %s', (text, form) => expect(canonicalIp(text)).toBe(form));

  it('is the one that a URL gives it, and its own', () =>
    fc.assert(
      fc.property(fc.ipV6(), (text) => {
        if (isIP(text) !== 6) return;
        const form = canonicalIp(text) ?? '';
        const url = new URL(`http://[${text}]`).hostname.slice(1, -1);
        expect(isIP(form) === 4 ? new URL(`http://[::ffff:${form}]`).hostname.slice(1, -1) : form).toBe(url);
        expect(canonicalIp(form)).toBe(form);
      }),
    ));
});

it.each([
  ['10.43.7.9/16', '10.43.0.0/16'],
  ['10.43.7.9/20', '10.43.0.0/20'],
  ['255.255.255.255/0', '0.0.0.0/0'],
  ['2001:db8:ffff::1/36', '2001:db8:f000::/36'],
  ['fd00::1/128', 'fd00::1/128'],
  ['10.43.0.0/33', undefined],
  ['10.43.0.0', undefined],
])('the usual form of the range %s is %s', (text, form) => expect(canonicalRange(text)).toBe(form));
