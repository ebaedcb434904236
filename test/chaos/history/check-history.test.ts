import { describe, expect, it } from 'vitest';
import { checkHistory } from './check-history.ts';
import { checkWatch, selected, stateAt } from './check-watch.ts';
import type { Change, WriteRecord } from './write-record.ts';

// The checker is only worth something if it finds what it looks for: each violation is planted here once.

/** create a (2), update a based on 2 (3), create b (4), delete a (5); one update of b with an unknown outcome (6). */
const writes = (): WriteRecord[] => [
  {
    type: 'create',
    name: 'a',
    step: '1',
    base: undefined,
    round: 0,
    invokedAt: 1,
    returnedAt: 2,
    outcome: 'acknowledged',
    revision: 2,
  },
  { type: 'update', name: 'a', step: '2', base: 2, round: 0, invokedAt: 3, returnedAt: 5, outcome: 'acknowledged', revision: 3 },
  {
    type: 'create',
    name: 'b',
    step: '3',
    base: undefined,
    round: 0,
    invokedAt: 4,
    returnedAt: 6,
    outcome: 'acknowledged',
    revision: 4,
  },
  { type: 'update', name: 'a', step: '4', base: 2, round: 0, invokedAt: 7, returnedAt: 8, outcome: 'refused' },
  {
    type: 'delete',
    name: 'a',
    step: undefined,
    base: 3,
    round: 0,
    invokedAt: 9,
    returnedAt: 10,
    outcome: 'acknowledged',
    revision: 5,
  },
  { type: 'update', name: 'b', step: '5', base: 4, round: 0, invokedAt: 11, returnedAt: 12, outcome: 'indeterminate' },
];
const log = (): Change[] => [
  { type: 'ADDED', name: 'a', revision: 2, step: '1' },
  { type: 'MODIFIED', name: 'a', revision: 3, step: '2' },
  { type: 'ADDED', name: 'b', revision: 4, step: '3' },
  { type: 'DELETED', name: 'a', revision: 5, step: '2' },
  { type: 'MODIFIED', name: 'b', revision: 6, step: '5' },
];
const starts = [1, 10_000];

describe('the checker of a history', () => {
  it('finds nothing in a true one, whether a write of unknown outcome happened or not', () => {
    expect(checkHistory(writes(), log(), starts)).toEqual([]);
    expect(checkHistory(writes(), log().slice(0, -1), starts)).toEqual([]);
  });

  it('finds an acknowledged write that is lost', () => {
    const without = log().filter(({ revision }) => revision !== 3);
    expect(checkHistory(writes(), without, starts)).toContainEqual(expect.stringContaining('lost: update a 2'));
  });

  it('finds a revision that was given out twice', () => {
    const changed = writes();
    changed[2]!.revision = 3;
    expect(checkHistory(changed, log(), starts)).toContainEqual(expect.stringContaining('revision 3 was given out twice'));
    const doubled = [...log(), { type: 'MODIFIED', name: 'b', revision: 6, step: '5' } as const];
    expect(checkHistory(writes(), doubled, starts)).toContainEqual('the log has revision 6 behind 6');
  });

  it('finds a write that was refused and happened all the same', () => {
    const more = [...log(), { type: 'MODIFIED', name: 'b', revision: 7, step: '4' } as const];
    expect(checkHistory(writes(), more, starts)).toContainEqual(expect.stringContaining('nobody asked for this'));
  });

  it('finds a write of unknown outcome that happened twice, or after its server had died', () => {
    const twice = [...log(), { type: 'MODIFIED', name: 'b', revision: 7, step: '5' } as const];
    expect(checkHistory(writes(), twice, starts)).toContainEqual(expect.stringContaining('or it happened twice'));
    const late = [...log().slice(0, -1), { type: 'MODIFIED', name: 'b', revision: 10_001, step: '5' } as const];
    expect(checkHistory(writes(), late, starts)).toContainEqual(expect.stringContaining('nobody asked for this in round 1'));
  });

  it('finds a compare-and-swap that replaced another version than it named', () => {
    const changed = writes();
    changed[1] = { ...changed[1]!, base: 1 };
    expect(checkHistory(changed, log(), starts)).toEqual(['MODIFIED a 2 at 3 was based on 1, but replaced 2']);
  });

  it('finds revisions against the order of time', () => {
    const changed = writes();
    changed[2] = { ...changed[2]!, invokedAt: 0.1, returnedAt: 0.2 };
    expect(checkHistory(changed, log(), starts)).toContainEqual(expect.stringContaining('4 was acknowledged before this began'));
  });

  it('finds a change that makes no sense for its key', () => {
    const changed = log();
    changed[3] = { type: 'DELETED', name: 'c', revision: 5, step: '2' };
    expect(checkHistory(writes(), changed, starts)).toContainEqual('DELETED c 2 at 5: it was not there');
  });
});

describe('the checker of a watch', () => {
  it('finds nothing in a true one, from any version on', () => {
    expect(checkWatch('w', { from: 1, to: 6, seen: log() }, log())).toEqual([]);
    expect(checkWatch('w', { from: 3, to: 5, seen: log().slice(2, 4) }, log())).toEqual([]);
  });

  it.each([
    ['a gap', log().toSpliced(2, 1)],
    ['a duplicate', log().toSpliced(2, 0, log()[1]!)],
    ['disorder', log().toSpliced(1, 2, log()[2]!, log()[1]!)],
    ['a change that never was', [...log(), { type: 'DELETED', name: 'b', revision: 6, step: '5' } as const]],
    ['a missing end', log().slice(0, -1)],
    ['other words', log().toSpliced(0, 1, { ...log()[0]!, step: 'x' })],
  ])('finds %s', (_, seen) => {
    expect(checkWatch('w', { from: 1, to: 6, seen }, log())).toHaveLength(1);
  });

  it('knows what a selector shows, and what there was at a version', () => {
    const odd = (step: string): boolean => Number(step) % 2 === 1;
    expect(selected(log(), odd)).toEqual([
      { type: 'ADDED', name: 'a', revision: 2, step: '1' },
      { type: 'DELETED', name: 'a', revision: 3, step: '1' },
      { type: 'ADDED', name: 'b', revision: 4, step: '3' },
      { type: 'MODIFIED', name: 'b', revision: 6, step: '5' },
    ]);
    expect(stateAt(log(), 4)).toEqual(
      new Map([
        ['a', 3],
        ['b', 4],
      ]),
    );
  });
});
