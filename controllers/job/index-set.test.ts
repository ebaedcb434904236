import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseIndexes } from '../../api/kinds/job/indexes.ts';
import { IndexSet } from './index-set.ts';

describe('indexes of a Job', () => {
  it.each([
    ['', 9, '', 0],
    ['1,3-5', 9, '1,3-5', 4],
    ['1,2', 9, '1,2', 2],
    ['1,2,3', 9, '1-3', 3],
    ['0-8', 5, '0-4', 5],
    ['3,7-9', 8, '3,7', 2],
    ['7-9', 5, '', 0],
    ['nonsense', 5, '', 0],
  ])('"%s" of %d are "%s", which are %d', (text, completions, written, size) => {
    const set = IndexSet.parse(text, completions);
    expect([set.toString(), set.size]).toEqual([written, size]);
  });

  it('behave as a set of numbers does, and are written as the API server reads them', () => {
    const numbers = fc.uniqueArray(fc.nat(40), { maxLength: 30 });
    fc.assert(
      fc.property(numbers, numbers, fc.nat(50), fc.nat(45), (a, b, count, completions) => {
        const [one, other] = [new IndexSet().with(a), new IndexSet().with(b)];
        const both = new Set([...a, ...b]);
        const union = one.union(other);
        expect(union.size).toBe(both.size);
        expect(one.countCommon(other)).toBe(a.filter((each) => b.includes(each)).length);
        for (let i = 0; i <= 42; i++) expect(union.has(i)).toBe(both.has(i));
        const absent = Array.from({ length: completions }, (_, i) => i).filter((i) => !both.has(i));
        expect(union.firstAbsent(count, completions)).toEqual(absent.slice(0, count));
        expect(parseIndexes(union.toString(), 41)).toMatchObject({ count: both.size });
        expect(IndexSet.parse(union.toString(), 41).toString()).toBe(union.toString());
      }),
    );
  });
});
