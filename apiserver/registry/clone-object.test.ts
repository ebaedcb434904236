import { isDeepStrictEqual } from 'node:util';
import { expect, it } from 'vitest';
import { cloneObject } from './clone-object.ts';

it('copies an object, of which bytes stay bytes and every key a key', () => {
  const object = { data: { a: Buffer.from('x'), ...JSON.parse('{"__proto__": 1}') }, list: [{ n: 1 }], text: 't' };
  const copy = cloneObject(object);
  expect(isDeepStrictEqual(copy, object)).toBe(true);
  expect(copy.list[0]).not.toBe(object.list[0]);
  copy.data.a[0] = 0;
  expect(object.data.a.toString()).toBe('x');
});
