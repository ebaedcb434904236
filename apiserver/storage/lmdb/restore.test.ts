import { describe, expect, it } from 'vitest';
import { computeRestoredRevision } from './restore.ts';

describe('where the counter of a restored store goes on', () => {
  const now = new Date('2026-06-01T00:00:00Z');
  const later = (ms: number): Date => new Date(now.getTime() + ms);

  it('is ahead of every store that was made earlier and wrote fifty thousand times a second since', () => {
    const first = computeRestoredRevision([500], now);
    expect(computeRestoredRevision([500], later(86_400_000))).toBeGreaterThanOrEqual(first + 86_400 * 50_000);
  });

  it('differs for each restore of a backup that was made soon after a restore', () => {
    const backedUp = computeRestoredRevision([500], now) + 2_000;
    const [second, third] = [later(60_000), later(61_000)].map((at) => computeRestoredRevision([backedUp], at));
    expect(second).toBeGreaterThan(backedUp);
    expect(third).toBeGreaterThanOrEqual(second! + 50_000);
  });

  it('is above stores that earlier versions have restored, a hundred times over', () => {
    const ofEarlierVersion = ((now.getTime() - Date.UTC(2020, 0, 1)) / 1000) * 10_000 + 100 * 1e9;
    expect(computeRestoredRevision([ofEarlierVersion], now)).toBe(computeRestoredRevision([0], now));
  });

  it('is far ahead of the backup and of the store before when the clock is wrong, and elsewhere a moment later', () => {
    expect(computeRestoredRevision([5e12, 7e12], new Date(0))).toBe(7e12 + 1e9);
    const [first, second] = [now, later(1)].map((at) => computeRestoredRevision([1e14, 7e12], at));
    expect(first).toBeGreaterThan(1e14 + 1e9);
    expect(second).toBeGreaterThan(first!);
  });

  it.each(['2100-01-01T00:00:00Z', '2400-01-01T00:00:00Z', '9999-01-01T00:00:00Z'])(
    'leaves as much room again within what a record holds, also in %s',
    (at) => {
      expect(computeRestoredRevision([0], new Date(at))).toBeLessThan(2 ** 48 / 2);
    },
  );
});
