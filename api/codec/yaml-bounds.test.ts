import { expect, it } from 'vitest';
import { yamlExcess } from './yaml-bounds.ts';

it.each([
  ['lists in lists', '['.repeat(200_000), 'is nested more than 128 levels deep'],
  ['lists that items stand behind', '[a,'.repeat(60_000), 'is nested more than 128 levels deep'],
  ['maps in maps', '{a: '.repeat(60_000), 'is nested more than 128 levels deep'],
  ['ends of lists', ']'.repeat(50_001), 'has more than 50000 tokens: send it as JSON'],
  ['empty items', `[${','.repeat(50_001)}`, 'has more than 50000 tokens: send it as JSON'],
  ['tags', '!a '.repeat(80_000), 'has more than 50000 tokens: send it as JSON'],
  ['texts behind one another', '"a" '.repeat(60_000), 'has more than 50000 tokens: send it as JSON'],
  ['documents', '---\n'.repeat(60_000), 'has more than 50000 tokens: send it as JSON'],
])('refuses %s that take the parser long', (_, text, excess) => {
  expect(yamlExcess(text)).toBe(excess);
});

it.each([
  ['a long text in a block', `a: |\n${'  [{ not a list\n'.repeat(20_000)}`],
  ['lists side by side', '- [a, [b]]\n'.repeat(1_000)],
  ['plain texts that begin with no list', '- a[{\n'.repeat(1_000)],
  ['quoted texts that look like lists', '- "[{"\n'.repeat(1_000)],
  ['128 levels', '['.repeat(128)],
  ['a manifest of 6,000 lines', 'kind: Pod\n'.repeat(6_000)],
])('takes %s', (_, text) => {
  expect(yamlExcess(text)).toBeUndefined();
});
