import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SortedKeys } from './sorted-keys.ts';

const key = fc.stringMatching(/^[ab]\/[a-e]{1,3}$/);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ add: fc.uniqueArray(key, { minLength: 1, maxLength: 40 }) }) },
  { weight: 2, arbitrary: fc.record({ remove: key }) },
  {
    weight: 2,
    arbitrary: fc.record({ prefix: fc.constantFrom('', 'a/', 'b/', 'a/b', 'c/'), after: fc.option(key, { nil: undefined }) }),
  },
);

test('ranges are those of a sorted set, whatever was added and removed between them', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const keys = new SortedKeys();
      const model = new Set<string>();
      const inOrder = (): string[] => [...model].sort();
      for (const each of steps) {
        if ('add' in each) {
          for (const one of each.add) {
            keys.add(one);
            model.add(one);
          }
        } else if ('remove' in each) {
          keys.delete(each.remove);
          model.delete(each.remove);
        } else {
          const { prefix, after } = each;
          const wanted = inOrder().filter((one) => one.startsWith(prefix) && (after === undefined || one > after));
          expect(keys.range(prefix, after)).toEqual(wanted);
        }
      }
      expect(keys.range('')).toEqual(inOrder());
      expect(keys.size).toBe(model.size);
    }),
    { numRuns: 300, seed: 7 },
  );
});

test('more keys than may wait are in order too', () => {
  const keys = new SortedKeys();
  const all = Array.from({ length: 10_000 }, (_, i) => `k/${(i * 7_919) % 10_000}`);
  for (const each of all) keys.add(each);
  expect(keys.range('k/')).toEqual([...all].sort());
});
