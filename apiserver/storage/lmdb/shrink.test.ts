import { describe, expect, it } from 'vitest';
import { decideShrink } from './shrink.ts';
import { emptyState } from './state.ts';

const mebi = 1024 * 1024;
const holding = (bytes: number) => ({ ...emptyState, logBytes: bytes });

describe('whether the file of a store is replaced by a copy', () => {
  it.each([
    ['shrinks a file that is mostly empty', 100, 10, true],
    ['leaves a file that is half full', 100, 45, false],
    ['leaves a small file, whatever is in it', 31, 0, false],
    ['leaves a file whose copy would take long', 4_000, 300, false],
  ] as const)('%s', (_, fileMebi, storedMebi, expected) => {
    expect(decideShrink(fileMebi * mebi, holding(storedMebi * mebi))).toBe(expected);
  });

  it('leaves a file that is full of relaxed keys', () => {
    expect(decideShrink(100 * mebi, { ...emptyState, relaxedBytes: 60 * mebi })).toBe(false);
  });
});
