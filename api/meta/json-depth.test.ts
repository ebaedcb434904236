import { expect, it } from 'vitest';
import { isTextTooDeep, isTooDeep, maxJsonDepth } from './json-depth.ts';

const spaces = ' '.repeat(20_000);
const nested = (depth: number, open: string, close: string): string => `${open.repeat(depth)}1${close.repeat(depth)}${spaces}`;

it.each([
  ['lists', '[', ']'],
  ['objects', '{"a[\\"[":', '}'],
])('a text of nested %s is too deep from the level on from which what it says is', (_what, open, close) => {
  for (const depth of [1, maxJsonDepth, maxJsonDepth + 1]) {
    const text = nested(depth, open, close);
    expect([isTextTooDeep(text), isTextTooDeep(Buffer.from(text))]).toEqual(Array(2).fill(isTooDeep(JSON.parse(text))));
  }
});

it('brackets in strings, and those that are closed again, nest nothing', () => {
  expect(isTextTooDeep(JSON.stringify(['['.repeat(20_000), '\\"{'.repeat(500)]))).toBe(false);
  expect(isTextTooDeep(JSON.stringify(Array(20_000).fill([{}])))).toBe(false);
});

it('what is no JSON is too deep or not, and never an error', () => {
  for (const text of ['['.repeat(20_000), ']'.repeat(20_000), `"${'['.repeat(20_000)}`, '\\'.repeat(20_001)])
    expect(isTextTooDeep(text)).toBe(text.startsWith('['));
});
