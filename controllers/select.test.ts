import { describe, expect, it } from 'vitest';
import { selectControllers } from './select.ts';

const definitions = ['a', 'b', 'c'].map((name) => ({ name }));

describe('selectControllers', () => {
  it.each<[string, readonly string[] | undefined, string]>([
    ['takes all where nothing is said', undefined, 'abc'],
    ['takes all for "*"', ['*'], 'abc'],
    ['leaves out what has a dash', ['*', '-b'], 'ac'],
    ['takes only what is named', ['b'], 'b'],
    ['takes what is named also where a dash leaves it out of all', ['*', '-b', 'b'], 'abc'],
    ['takes nothing where only dashes are given', ['-b'], ''],
  ])('%s', (_, words, chosen) =>
    expect(
      selectControllers(definitions, words)
        .map(({ name }) => name)
        .join(''),
    ).toBe(chosen),
  );

  it.each([['x'], ['-x'], ['*', '']])('refuses unknown names and lists those that there are (%s)', (...words) =>
    expect(() => selectControllers(definitions, words)).toThrow(/there is no controller ".*": they are a, b, c/),
  );
});
