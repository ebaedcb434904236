import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type AddressRange, overlap, parseAddressRange, rangeAround } from '../../api/meta/address-range.ts';
import { proposeRanges, rangesOfRoutes } from './free-ranges.ts';

const privates = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'].map(parseAddressRange);
const inside = (range: AddressRange): boolean =>
  privates.some(({ first, size }) => range.first >= first && range.first + range.size <= first + size);
const texts = (length: number, taken: readonly string[], count = 2): string[] =>
  proposeRanges(length, taken.map(parseAddressRange), count).map(({ text }) => text);

/** Mostly of the private ranges, of all sizes. */
const range = fc
  .tuple(fc.constantFrom(...privates), fc.nat(2 ** 24), fc.integer({ min: 4, max: 32 }))
  .map(([{ first, size }, at, length]) => rangeAround(first + (at % size), length));

it('proposes private ranges that overlap neither taken ranges nor each other, and fewer only where no more are free', () => {
  fc.assert(
    fc.property(fc.array(range, { maxLength: 12 }), fc.integer({ min: 10, max: 26 }), (taken, length) => {
      const found = proposeRanges(length, taken, 3);
      for (const [index, each] of found.entries()) {
        expect(inside(each) && each.length === length).toBe(true);
        for (const other of [...taken, ...found.slice(0, index)]) expect(overlap(each, other)).toBe(false);
      }
      if (found.length === 3 || length > 16) return;
      // Fewer than three: each other one, tried by itself, is in the way of something.
      const all = privates
        .filter((each) => each.length <= length)
        .flatMap(({ first, size }) =>
          Array.from({ length: size / 2 ** (32 - length) }, (_, i) => rangeAround(first + i * 2 ** (32 - length), length)),
        );
      expect(all.filter((each) => !taken.some((other) => overlap(each, other)))).toEqual(found);
    }),
  );
});

it.each([
  ['the first', 16, [], ['10.0.0.0/16', '10.1.0.0/16']],
  ['those behind what is taken', 16, ['10.0.0.0/9', '10.128.3.0/24'], ['10.129.0.0/16', '10.130.0.0/16']],
  ['of the next private range', 16, ['10.0.0.0/8'], ['172.16.0.0/16', '172.17.0.0/16']],
  ['none where all is taken', 16, ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'], []],
])('proposes %s', (_, length, taken, expected) => expect(texts(length, taken)).toEqual(expected));

it('reads ranges from routes, without the default route and IPv6', () => {
  expect(rangesOfRoutes(['default', '10.1.0.0/16', '10.2.3.4', 'fd00::/8']).map(({ text }) => text)).toEqual([
    '10.1.0.0/16',
    '10.2.3.4/32',
  ]);
});
