import { expect, test } from 'vitest';
import { escapeName, unescapeName } from './escape.ts';

test.each([
  ['with-dash', 'with__dash__dash'],
  ['namespace', '__namespace__'],
  ['a.b/c', 'a__dot__b__slash__c'],
  ['__namespace__', '__underscores__namespace__underscores__'],
  ['a__dot__b', 'a__underscores__dot__underscores__b'],
  ['a___b', 'a__underscores___b'],
  ['plain', 'plain'],
])('%s is %s in an expression, and back', (name, escaped) => {
  expect(escapeName(name)).toBe(escaped);
  expect(unescapeName(escaped)).toBe(name);
});

test.each(['with space', '1st', 'é', ''])('no expression can reach "%s"', (name) => {
  expect(escapeName(name)).toBeUndefined();
});
