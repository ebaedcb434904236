import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  addQuantity,
  canonicalQuantity,
  compareQuantity,
  equalQuantity,
  formatCpu,
  formatMemory,
  isQuantity,
  parseNanos,
  parseQuantity,
  quantityMilli,
  quantityValue,
  storedQuantity,
  subtractQuantity,
} from './quantity.ts';

it('knows every suffix', () => {
  const nanos: [string, bigint][] = [
    ['1n', 1n],
    ['1u', 1_000n],
    ['1m', 1_000_000n],
    ['1', 10n ** 9n],
    ['1k', 10n ** 12n],
    ['1M', 10n ** 15n],
    ['1G', 10n ** 18n],
    ['1T', 10n ** 21n],
    ['1P', 10n ** 24n],
    ['1E', 10n ** 27n],
    ['1Ki', 1024n * 10n ** 9n],
    ['1Mi', 1024n ** 2n * 10n ** 9n],
    ['1Gi', 1024n ** 3n * 10n ** 9n],
    ['1Ti', 1024n ** 4n * 10n ** 9n],
    ['1Pi', 1024n ** 5n * 10n ** 9n],
    ['1Ei', 1024n ** 6n * 10n ** 9n],
    ['1e3', 10n ** 12n],
    ['1E3', 10n ** 12n],
    ['2E-3', 2_000_000n],
    ['1e+2', 10n ** 11n],
    ['1.5Gi', 1536n * 1024n ** 2n * 10n ** 9n],
    ['.5', 5n * 10n ** 8n],
    ['5.', 5n * 10n ** 9n],
    ['-1.5', -15n * 10n ** 8n],
    ['+1', 10n ** 9n],
  ];
  for (const [text, value] of nanos) expect([text, parseNanos(text)]).toEqual([text, value]);
});

it('refuses what is no quantity, without taking long', () => {
  for (const text of [
    '',
    '.',
    'm',
    '1K',
    '1ki',
    '1 Gi',
    '1GiB',
    'e3',
    '1e',
    '1e1.5',
    '--1',
    '0x10',
    '1mm',
    '1e999',
    '9'.repeat(65),
  ]) {
    expect([text, isQuantity(text)]).toEqual([text, false]);
  }
  expect(() => quantityMilli('much')).toThrow('"much" is not a quantity');
});

it('rounds up to milli and to units, so that nothing is taken for less than it is', () => {
  expect([quantityMilli('1n'), quantityMilli('0.0001'), quantityMilli('1.5'), quantityMilli(undefined)]).toEqual([1, 1, 1500, 0]);
  expect([quantityValue('1m'), quantityValue('1500m'), quantityValue('1.5Ki'), quantityValue({ string: '-1500m' })]).toEqual([
    1, 2, 1536, -1,
  ]);
  expect(parseNanos('0.1n')).toBe(1n);
});

it('is exact where numbers are not', () => {
  expect(compareQuantity('9007199254740993', '9007199254740992')).toBe(1);
  expect(addQuantity('9007199254740993', '1').string).toBe('9007199254740994');
  expect(parseQuantity('1Ei').milli).toBe(1024n ** 6n * 1000n);
});

it('agrees with the exact way on the fast path', () => {
  const text = fc.tuple(fc.nat(999_999_999_999), fc.constantFrom('', 'm', 'k', 'K', 'Ki', 'M', 'Mi', 'G', 'Gi', 'T', 'Ti', 'mi'));
  const property = fc.property(text, ([digits, suffix]) => {
    const exact = parseNanos(`${digits}${suffix}`);
    expect(isQuantity(`${digits}${suffix}`)).toBe(exact !== undefined);
    if (exact !== undefined) expect(quantityMilli(`${digits}${suffix}`)).toBe(Number((exact + 999_999n) / 1_000_000n));
  });
  fc.assert(property, { seed: 7, numRuns: 500 });
});

it('compares amounts, not texts', () => {
  expect([
    equalQuantity('1', '1000m'),
    equalQuantity('1Gi', '1024Mi'),
    equalQuantity('1k', '1Ki'),
    equalQuantity('0', undefined),
  ]).toEqual([true, true, false, true]);
  expect(compareQuantity('500m', '1')).toBeLessThan(0);
  expect(compareQuantity('0.3', '300m')).toBe(0);
  expect(compareQuantity('2Gi', '2G')).toBeGreaterThan(0);
});

it('writes one text for one amount', () => {
  const canonical = ['1000m', '1024Ki', '1.5Gi', '0.5', '1500', '1e3', '0Mi', '100Ki', '1536Mi', '-2048Ki'].map((text) =>
    canonicalQuantity(text),
  );
  expect(canonical).toEqual(['1', '1Mi', '1536Mi', '500m', '1500', '1k', '0', '100Ki', '1536Mi', '-2Mi']);
});

it('adds and subtracts in the suffixes of the first', () => {
  expect([
    addQuantity('100m', '900m'),
    addQuantity('1Gi', '1Gi'),
    addQuantity(undefined, '1Mi'),
    subtractQuantity('1Gi', '1Mi'),
  ]).toEqual([{ string: '1' }, { string: '2Gi' }, { string: '1Mi' }, { string: '1023Mi' }]);
});

it('writes cpu and memory as quantities', () => {
  expect([formatCpu(250), formatCpu(2000), formatCpu(0), formatCpu(99.6)]).toEqual(['250m', '2', '0', '100m']);
  expect([formatMemory(1048576), formatMemory(1500), formatMemory(0), formatMemory(3 * 2 ** 40)]).toEqual([
    '1Mi',
    '1500',
    '0',
    '3Ti',
  ]);
});

it.each([
  ['0.5', '500m'],
  ['1000m', '1'],
  ['1500m', '1500m'],
  ['100m', '100m'],
  ['1024Mi', '1Gi'],
  ['1025Mi', '1025Mi'],
  ['0.5Gi', '512Mi'],
  ['1.5', '1500m'],
  ['0.1Mi', '104857600m'],
  ['512Ki', '512Ki'],
  ['0.25Ki', '256'],
  ['1000', '1k'],
  ['1000k', '1M'],
  ['1500', '1500'],
  ['0001', '1'],
  ['+5', '5'],
  ['0', '0'],
  ['0Mi', '0'],
  ['-1000m', '-1'],
  ['1e3', '1e3'],
  ['1000e3', '1e6'],
  ['12E-3', '12e-3'],
  ['1500e0', '1500'],
  ['0.1n', '1n'],
  ['100Ei', '9223372036854775807'],
  ['16777216000000', '16777216M'],
  ['5E', '5E'],
])('stores %s as %s', (sent, stored) => {
  expect(storedQuantity(sent)).toBe(stored);
});

it('stores an amount without a binary suffix as it would be stored when it is written again', () => {
  expect(['937.5Ki', '0.9765625Ki', '-937.5Ki', '0.3Ki'].map(storedQuantity)).toEqual(['960k', '1k', '-960k', '307200m']);
});

it('stores no text that is no quantity', () => {
  expect(['', 'much', '1Mib', '1.2.3', '5 m'].map(storedQuantity)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

it('stores a text of the same amount, which stays as it is when it is stored again', () => {
  const suffix = fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'T', 'Ki', 'Mi', 'Gi', 'e3', 'e-3', 'E6', 'e2');
  const number = fc.oneof(
    fc.nat({ max: 10_000_000 }).map(String),
    fc.tuple(fc.nat({ max: 4096 }), fc.nat({ max: 9999 })).map((parts) => parts.join('.')),
  );
  fc.assert(
    fc.property(fc.constantFrom('', '-', '+'), number, suffix, (sign, digits, unit) => {
      const stored = storedQuantity(sign + digits + unit)!;
      expect(parseNanos(stored)).toBe(parseNanos(sign + digits + unit));
      expect(storedQuantity(stored)).toBe(stored);
    }),
  );
});
