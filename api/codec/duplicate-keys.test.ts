import { expect, it } from 'vitest';
import { findDuplicates } from './duplicate-keys.ts';

const duplicates = (text: string): string[] => findDuplicates(text, JSON.parse(text));

it.each([
  ['{"a":1,"a":2}', ['a']],
  ['{"a":{"b":1,"c":[{"d":1},{"d":1,"d":2}]},"a":{"b":1}}', ['a.c[1].d', 'a']],
  ['[1,{"x":1,"x":1}]', ['[1].x']],
  ['{"a" : [[1],[{"b":"}","b":"{"}]]}', ['a[1][0].b']],
  ['{"a":1,"\\u0061":2}', ['a']],
  ['{"a":1,"a":2,"a":3}', ['a']],
  ['{"__proto__":1,"__proto__":2}', ['__proto__']],
])('finds what stands twice in %s', (text, expected) => {
  expect(duplicates(text)).toEqual(expected);
});

it.each([
  ['{}', '[]', '5', '"a"', '{"a":{"b":1},"c":{"b":1}}', '[{"a":1},{"a":1}]'],
  ['{"a":"\\"b\\":1, \\"b\\":2"}', '{"a":"{\\"b\\" : 1}","b":"x:y","c\\":\\"":1}', '{"":1,"b":""}'],
])('finds nothing where each member stands once', (...texts) => {
  for (const text of texts) expect(duplicates(text)).toEqual([]);
});

it('names a hundred at most, of any length of text', () => {
  const text = `{${Array.from({ length: 50_000 }, (_, index) => `"k${index >> 1}":1`).join(',')}}`;
  expect(duplicates(text)).toHaveLength(100);
});

it('agrees with a parser that keeps all members, for random texts', () => {
  let seed = 7;
  const next = (most: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed % most;
  };
  // Makes a text, and notes what stands twice in it.
  const make = (path: string, depth: number, twice: Set<string>): string => {
    const kind = depth === 0 ? 2 : next(4);
    if (kind === 0)
      return `[${Array.from({ length: next(4) }, (_, index) => make(`${path}[${index}]`, depth - 1, twice)).join(' , ')}]`;
    if (kind >= 2) return ['1', 'true', 'null', '"x: {,"', '"\\"a\\":"'][next(5)]!;
    const seen = new Set<string>();
    const members = Array.from({ length: next(5) }, () => {
      const key = ['a', 'b', 'c:', '{'][next(4)]!;
      const at = path === '' ? key : `${path}.${key}`;
      if (seen.has(key)) twice.add(at);
      seen.add(key);
      return `${JSON.stringify(key)} :${make(at, depth - 1, twice)}`;
    });
    return `{${members.join(',')}}`;
  };
  for (let round = 0; round < 3_000; round++) {
    const twice = new Set<string>();
    const text = make('', 4, twice);
    expect(new Set(duplicates(text)), text).toEqual(new Set([...twice].slice(0, 100)));
  }
});
