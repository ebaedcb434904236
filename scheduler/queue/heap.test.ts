import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createHeap } from './heap.ts';

interface Item {
  readonly rank: number;
}

describe('heap', () => {
  it('gives out what is left in order, whatever was pushed and removed', () => {
    const ranks = fc.array(fc.record({ rank: fc.integer({ min: 0, max: 20 }), removed: fc.boolean() }), { maxLength: 50 });
    fc.assert(
      fc.property(ranks, (given) => {
        const heap = createHeap<Item>((a, b) => a.rank - b.rank);
        for (const item of given) heap.push(item);
        for (const item of given) if (item.removed) expect(heap.remove(item)).toBe(true);
        const left = given.filter(({ removed }) => !removed).map(({ rank }) => rank);
        expect(heap.size).toBe(left.length);
        expect(left.map(() => heap.pop()?.rank)).toEqual(left.sort((a, b) => a - b));
        expect(heap.pop()).toBeUndefined();
      }),
      { seed: 6 },
    );
  });

  it('says when an item to remove is not inside', () => {
    const heap = createHeap<Item>((a, b) => a.rank - b.rank);
    expect(heap.remove({ rank: 1 })).toBe(false);
  });
});
