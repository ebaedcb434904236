import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Packing, packSlices } from './pack.ts';

interface Item {
  readonly id: string;
  readonly weight?: number;
}
type Slice = readonly Item[];

const packing: Packing<Slice, Item> = { itemsOf: (slice) => slice, idOf: ({ id }) => id, mostItems: 3 };
const weighing: Packing<Slice, Item> = { ...packing, weight: { of: ({ weight = 1 }) => weight, most: 10 } };
const items = (ids: string): Item[] => [...ids].map((id) => ({ id }));
const wantedOf = (list: readonly Item[]): Map<string, Item> => new Map(list.map((item) => [item.id, item]));

/** "abc|d + ef": what the slices keep, and what is new. */
function packed(slices: readonly Slice[], wanted: readonly Item[], by = packing): string {
  const { kept, fresh } = packSlices(slices, wantedOf(wanted), by);
  const text = (lists: readonly (readonly Item[])[]): string => lists.map((list) => list.map(({ id }) => id).join('')).join('|');
  return `${text(kept.map((each) => each.items))} + ${text(fresh)}`;
}

describe('items in slices', () => {
  it.each<[string, string[], string, string]>([
    ['none in none', [], '', ' + '],
    ['new ones, in as few as there are needed', [], 'abcd', ' + abc|d'],
    ['those that stay, where they are', ['ab', 'cde'], 'abcde', 'ab|cde + '],
    ['one that is gone', ['ab', 'cde'], 'abce', 'ab|ce + '],
    ['a new one, in the slice that changes anyway', ['abc', 'de'], 'abdf', 'abf|d + '],
    ['a new one, in the fullest that has room', ['a', 'bc', 'def'], 'abcdefg', 'a|bcg|def + '],
    ['several new ones that no slice has room for together', ['ab', 'cd'], 'abcdxy', 'ab|cd + xy'],
    ['one that stands twice, once', ['ab', 'bc'], 'abc', 'ab|c + '],
    ['a slice that is left empty', ['ab', 'c'], 'ab', 'ab| + '],
  ])('has %s', (_title, slices, wanted, expected) => expect(packed(slices.map(items), items(wanted))).toBe(expected));

  it('is full when it is heavy; a heavier item has a slice to itself', () => {
    const heavy = (ids: string, weight: number): Item[] => items(ids).map((item) => ({ ...item, weight }));
    expect(packed([], heavy('abc', 5), weighing)).toBe(' + ab|c');
    expect(packed([], [...heavy('a', 20), ...heavy('b', 1)], weighing)).toBe(' + a|b');
    // One that has become heavier leaves no room for the next.
    expect(packed([items('abc')], [...heavy('a', 1), ...heavy('b', 9), ...heavy('c', 1)], weighing)).toBe('ab + c');
  });

  it('has the new version of an item', () => {
    const { kept } = packSlices([[{ id: 'a', weight: 1 }]], wantedOf([{ id: 'a', weight: 2 }]), packing);
    expect(kept[0]?.items).toEqual([{ id: 'a', weight: 2 }]);
  });

  it('has each wanted item once, and no slice with too much, whatever was there before', () => {
    const item = fc.record({ id: fc.constantFrom(...'abcdefghij'), weight: fc.integer({ min: 1, max: 12 }) });
    fc.assert(
      fc.property(
        fc.array(fc.array(item, { maxLength: 5 })),
        fc.uniqueArray(item, { selector: ({ id }) => id }),
        (before, wanted) => {
          const { kept, fresh } = packSlices(before, wantedOf(wanted), weighing);
          const lists = [...kept.map((each) => each.items), ...fresh];
          const ids = lists.flat().map(({ id }) => id);
          expect(ids.toSorted()).toEqual(wanted.map(({ id }) => id).toSorted());
          for (const list of lists) {
            expect(list.length).toBeLessThanOrEqual(3);
            if (list.length > 1) expect(list.reduce((sum, { weight = 1 }) => sum + weight, 0)).toBeLessThanOrEqual(10);
          }
        },
      ),
    );
  });
});
