import { expect, it } from 'vitest';
import type { LabelSelector } from '../generated/types.ts';
import type { Violations } from './checks.ts';
import { checkLabelSelector } from './selectors.ts';

const keys = (count: number) => Array.from({ length: count }, (_, at) => `k${at}`);

it.each<[string, LabelSelector, boolean]>([
  ['1,000 expressions', { matchExpressions: keys(1_000).map((key) => ({ key, operator: 'Exists' })) }, false],
  ['1,001 expressions', { matchExpressions: keys(1_001).map((key) => ({ key, operator: 'Exists' })) }, true],
  ['999 values of an expression', { matchExpressions: [{ key: 'a', operator: 'In', values: keys(999) }] }, false],
  ['1,000 values of an expression', { matchExpressions: [{ key: 'a', operator: 'In', values: keys(1_000) }] }, true],
  ['1,001 labels', { matchLabels: Object.fromEntries(keys(1_001).map((key) => [key, ''])) }, true],
])('judges a selector of %s by the number of its terms', (_, selector, isRefused) => {
  const out: Violations = [];
  checkLabelSelector(out, 'spec.selector', selector);
  const detail = 'must have at most 1000 labels, expressions and values together';
  expect(out).toEqual(isRefused ? [expect.objectContaining({ field: 'spec.selector', detail })] : []);
});
