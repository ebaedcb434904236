import { describe, expect, it } from 'vitest';
import { applyJsonPatch, parseJsonPatch } from './json-patch.ts';
import type { Json } from './merge-patch.ts';

const apply = (target: Json, ...operations: object[]): Json => applyJsonPatch(target, parseJsonPatch(operations as Json));

describe('a JSON patch (RFC 6902)', () => {
  it.each<[string, Json, object[], Json]>([
    ['adds a field', { a: 1 }, [{ op: 'add', path: '/b', value: 2 }], { a: 1, b: 2 }],
    ['adds an item before another', [1, 3], [{ op: 'add', path: '/1', value: 2 }], [1, 2, 3]],
    ['adds an item at the end', { l: [1] }, [{ op: 'add', path: '/l/-', value: 2 }], { l: [1, 2] }],
    ['replaces', { a: { b: 1 } }, [{ op: 'replace', path: '/a/b', value: [] }], { a: { b: [] } }],
    ['replaces the whole', { a: 1 }, [{ op: 'replace', path: '', value: { b: 1 } }], { b: 1 }],
    [
      'removes a field and an item',
      { a: 1, l: [1, 2] },
      [
        { op: 'remove', path: '/a' },
        { op: 'remove', path: '/l/0' },
      ],
      { l: [2] },
    ],
    ['moves', { a: { b: 1 }, c: {} }, [{ op: 'move', from: '/a/b', path: '/c/b' }], { a: {}, c: { b: 1 } }],
    [
      'copies',
      { a: [1] },
      [
        { op: 'copy', from: '/a', path: '/b' },
        { op: 'add', path: '/b/-', value: 2 },
      ],
      { a: [1], b: [1, 2] },
    ],
    [
      'goes on after a test that holds',
      { a: { x: 1, y: 2 } },
      [{ op: 'test', path: '/a', value: { y: 2, x: 1 } }],
      { a: { x: 1, y: 2 } },
    ],
    [
      'reads escaped names',
      { 'a/b': 1, 'c~d': 2 },
      [
        { op: 'remove', path: '/a~1b' },
        { op: 'remove', path: '/c~0d' },
      ],
      {},
    ],
  ])('%s', (_title, target, operations, expected) => {
    const before = structuredClone(target);
    expect(apply(target, ...operations)).toEqual(expected);
    expect(target).toEqual(before);
  });

  it.each<[string, object[], RegExp]>([
    ['a test that fails', [{ op: 'test', path: '/a', value: 2 }], /operation 0 \(test \/a\): the value is another/],
    ['a field that is not there', [{ op: 'replace', path: '/x', value: 1 }], /there is no "x"/],
    ['an item that is not there', [{ op: 'remove', path: '/l/5' }], /there is no item 5/],
    ['an index that is none', [{ op: 'add', path: '/l/01', value: 1 }], /there is no item 01/],
    ['a parent that is no container', [{ op: 'add', path: '/a/b', value: 1 }], /the parent is neither an object nor a list/],
    ['a move into itself', [{ op: 'move', from: '/l', path: '/l/0' }], /cannot move a value into itself/],
    ['the removal of the whole', [{ op: 'remove', path: '' }], /cannot be removed/],
    ['an unknown operation', [{ op: 'merge', path: '/a' }], /operation 0: op must be/],
    ['a path without a slash', [{ op: 'remove', path: 'a' }], /path must be/],
    ['a test without its value of what has one', [{ op: 'test', path: '/a' }], /the value is another/],
    ['a copy from nowhere', [{ op: 'copy', path: '/a' }], /copy needs from/],
  ])('refuses %s', (_title, operations, message) => expect(() => apply({ a: 1, l: [1] }, ...operations)).toThrow(message));

  it('takes a value that is left out for null', () => {
    const target = { labels: { a: 'b' }, l: [1] };
    expect(apply(target, { op: 'replace', path: '/labels' }, { op: 'add', path: '/l/0' })).toEqual({
      labels: null,
      l: [null, 1],
    });
  });

  it('sets a member of any name and no prototype', () => {
    const after = apply({}, { op: 'add', path: '/__proto__', value: { x: 1 } }) as object;
    expect(Object.keys(after)).toEqual(['__proto__']);
    expect('x' in {}).toBe(false);
  });

  it('does not grow without end', () => {
    const doubling = Array.from({ length: 60 }, (_, i) => ({ op: 'copy', from: '', path: `/c${i}` }));
    expect(() => apply({ a: 1 }, ...doubling)).toThrow('the copies are too large');
    const many = Array.from({ length: 10_001 }, () => ({ op: 'remove', path: '/a' }));
    expect(() => parseJsonPatch(many)).toThrow('more than 10000 operations');
  });

  it('is a list of objects', () => {
    expect(() => parseJsonPatch({})).toThrow('a JSON patch is a list of operations');
    expect(() => parseJsonPatch([1])).toThrow('operation 0: is no object');
  });
});

describe('a JSON patch that costs too much', () => {
  const list = Array.from({ length: 100_000 }, (_, at) => at);
  const object = Object.fromEntries(list.map((at) => [`k${at}`, 0]));
  const many = (operation: object): object[] => Array.from({ length: 10_000 }, () => operation);
  const deep = (levels: number): Json => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`) as Json;

  it.each<[string, Json, object[], string]>([
    ['tests a large object again and again', object, many({ op: 'test', path: '', value: object }), 'takes too much work'],
    ['moves a long list by one, again and again', list, many({ op: 'add', path: '/0', value: 0 }), 'takes too much work'],
    [
      'copies a large value again and again',
      { a: 'x'.repeat(1000) },
      many({ op: 'copy', from: '/a', path: '/b' }),
      'the copies are too large',
    ],
    ['nests a value level by level', { a: {} }, many({ op: 'copy', from: '/a', path: '/a/a' }), 'the value is nested more than'],
    [
      'nests by moving',
      Object.fromEntries(list.slice(0, 300).map((at) => [at, {}])),
      list.slice(1, 300).map((at) => ({ op: 'move', from: `/${at - 1}`, path: `/${at}/${at - 1}` })),
      'the result is nested more than 128 levels deep',
    ],
    ['adds a deep value', {}, [{ op: 'add', path: '/a', value: deep(20_000) }], 'nested more than 128 levels deep'],
  ])('%s: it is refused', (_title, target, operations, why) => {
    expect(() => apply(target, ...operations)).toThrow(why);
  });

  it('has room for 10,000 operations of the usual size', () => {
    const small = Object.fromEntries(list.slice(0, 9).map((at) => [`k${at}`, `v${at}`]));
    expect(apply(small, ...many({ op: 'test', path: '', value: small }))).toEqual(small);
  });
});
