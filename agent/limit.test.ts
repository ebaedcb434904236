import { describe, expect, it } from 'vitest';
import { createLimit } from './limit.ts';

/** Tasks that note when they begin and end when told. */
function setUp(atOnce: number) {
  const limit = createLimit(atOnce);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const add = (name: string, first?: 'first') =>
    limit(() => {
      begun.push(name);
      return new Promise<void>((resolve) => ends.set(name, resolve));
    }, first);
  const settle = async () => {
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  };
  const end = async (name: string) => {
    ends.get(name)?.();
    await settle();
  };
  return { limit, begun, add, end, settle };
}

describe('the limit', () => {
  it('runs at most so many at once, the others in order', async () => {
    const { begun, add, end } = setUp(2);
    for (const name of ['a', 'b', 'c', 'd']) void add(name);
    expect(begun).toEqual(['a', 'b']);
    await end('b');
    expect(begun).toEqual(['a', 'b', 'c']);
    await end('a');
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
  });

  it('lets those pass that finish what was begun', async () => {
    const { begun, add, end } = setUp(1);
    for (const name of ['a', 'b', 'c']) void add(name);
    void add('rest of a', 'first');
    await end('a');
    expect(begun).toEqual(['a', 'rest of a']);
    await end('rest of a');
    expect(begun).toEqual(['a', 'rest of a', 'b']);
  });

  it('hands the place on when a task fails', async () => {
    const { limit, begun, add, settle } = setUp(1);
    const failed = limit(() => Promise.reject(new Error('no')));
    void add('next');
    await expect(failed).rejects.toThrow('no');
    await settle();
    expect(begun).toEqual(['next']);
  });

  it('runs what can be done later too only where a place is free, which it takes', async () => {
    const { limit, begun, add, end } = setUp(2);
    void add('a');
    let done = () => {};
    const spare = limit.ifFree(() => new Promise<string>((resolve) => (done = () => resolve('done'))));
    expect(limit.ifFree(async () => 'never')).toBeUndefined();
    void add('b');
    expect(begun).toEqual(['a']);
    done();
    expect(await spare).toBe('done');
    expect(begun).toEqual(['a', 'b']);
    await end('a');
    expect(await limit.ifFree(async () => 'now')).toBe('now');
  });
});
