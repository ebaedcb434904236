import { describe, expect, it } from 'vitest';
import { decideWarm } from './decide-warm.ts';
import type { ListEntry } from './observe.ts';

function entry(id: string, overrides: Partial<ListEntry> = {}): ListEntry {
  return {
    Id: id,
    Names: [`/berth_pool_${id}`],
    Image: 'pause:2',
    ImageID: '',
    Created: 0,
    State: 'running',
    Labels: {},
    ...overrides,
  };
}

const facts = { inUse: new Set<string>(), waiting: new Set<string>(), image: 'pause:2', size: 2 };

describe('networks of the pool that the engine has', () => {
  it.each<[string, Partial<typeof facts>, ListEntry[], { remove: string[]; adopt: string[] }]>([
    ['are taken over when they wait and run', {}, [entry('a'), entry('b')], { adopt: ['a', 'b'], remove: [] }],
    ['are left alone when they are known to wait', { waiting: new Set(['a']) }, [entry('a')], { adopt: [], remove: [] }],
    [
      'are left alone when a sandbox names them',
      { inUse: new Set(['a']) },
      [entry('a', { Names: ['/x'] })],
      { adopt: [], remove: [] },
    ],
    [
      'are left alone when a sandbox names them that was not renamed yet',
      { inUse: new Set(['a']) },
      [entry('a')],
      { adopt: [], remove: [] },
    ],
    [
      'go when they were claimed and no sandbox names them',
      {},
      [entry('a', { Names: ['/berth_NETWORK_web'] })],
      { adopt: [], remove: ['a'] },
    ],
    ['go when they ended', { waiting: new Set(['a']) }, [entry('a', { State: 'exited' })], { adopt: [], remove: ['a'] }],
    ['go when they were made and not started', {}, [entry('a', { State: 'created' })], { adopt: [], remove: ['a'] }],
    ['go when they run an older program', {}, [entry('a', { Image: 'pause:1' })], { adopt: [], remove: ['a'] }],
    ['go when they have no name', {}, [entry('a', { Names: null })], { adopt: [], remove: ['a'] }],
    ['go when they are more than are wanted now', { size: 1 }, [entry('a'), entry('b')], { adopt: ['a'], remove: ['b'] }],
    ['all go when none is wanted any more', { size: 0 }, [entry('a')], { adopt: [], remove: ['a'] }],
  ])('%s', (_title, changed, entries, expected) => {
    expect(decideWarm(entries, { ...facts, ...changed })).toEqual(expected);
  });
});
