import { expect, it } from 'vitest';
import { kindNamed } from '../../api/kinds/index.ts';
import { KindCache } from '../watch/kind-cache.ts';
import { KeyIndex } from './key-index.ts';

const put = (key: string, text: string, revision: number) => ({ type: 'put', key, bytes: Buffer.from(text), revision }) as never;

/** Of objects whose bytes are the names, with spaces between; "bad" cannot be read. */
function createIndex() {
  const cache = new KindCache(kindNamed('Service'));
  const index = new KeyIndex(cache, ({ bytes }) => {
    const text = bytes.toString();
    if (text === 'bad') throw new Error('damaged');
    return text.split(' ');
  });
  return { cache, index, leave: index.observe() };
}

it('follows what objects name through changes, deletions and a fresh start', () => {
  const { cache, index, leave } = createIndex();
  cache.apply(put('a', 'x y', 1));
  cache.apply(put('b', 'x', 2));
  expect([index.of('x'), index.of('y'), index.names()]).toEqual([['a', 'b'], ['a'], ['x', 'y']]);
  cache.apply(put('a', 'z', 3));
  expect([index.of('x'), index.of('y'), index.keys()]).toEqual([['b'], [], ['b', 'a']]);
  cache.apply({ type: 'delete', key: 'b', bytes: Buffer.from('x'), revision: 4 } as never);
  expect(index.names()).toEqual(['z']);
  cache.reset([{ key: 'c', bytes: Buffer.from('w'), revision: 5 } as never], 5);
  expect([index.names(), index.keys()]).toEqual([['w'], ['c']]);
  leave();
  cache.apply(put('d', 'v', 6));
  expect(index.names()).toEqual(['w']);
});

it('takes an object that could not be read once it can', () => {
  const { cache, index } = createIndex();
  cache.apply(put('a', 'bad', 1));
  expect(index.names()).toEqual([]);
  cache.apply(put('a', 'x', 2));
  expect(index.of('x')).toEqual(['a']);
});
