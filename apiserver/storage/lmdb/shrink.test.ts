import { describe, expect, it } from 'vitest';
import { computeRestoredRevision } from './restore.ts';
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

describe('where the counter of a restored store goes on', () => {
  const now = new Date('2026-06-01T00:00:00Z');

  it('is ahead of every store that was made earlier and wrote ten thousand times a second since', () => {
    const first = computeRestoredRevision(500, now);
    const dayLater = computeRestoredRevision(500, new Date(now.getTime() + 86_400_000));
    expect(dayLater).toBeGreaterThanOrEqual(first + 86_400 * 10_000);
  });

  it('is far ahead of the backup when the clock is wrong', () => {
    expect(computeRestoredRevision(5e12, new Date(0))).toBe(5e12 + 1e9);
  });

  it('leaves room for more restores than anybody makes, within what a record holds', () => {
    expect(computeRestoredRevision(0, new Date('2100-01-01T00:00:00Z'))).toBeLessThan(2 ** 48 / 10);
  });
});
