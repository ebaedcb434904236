import { expect, it } from 'vitest';
import { isInvalid } from '../errors/index.ts';
import { parseFieldSelector } from './fields.ts';
import { formatLabelSelector, formatLabels, labelSelectorMatches, parseLabelSelector } from './labels.ts';

const labels = { app: 'web', tier: 'front', 'a.b/c': '3', empty: '' };

it.each([
  ['', true],
  ['app', true],
  ['!app', false],
  ['nothing', false],
  ['!nothing', true],
  ['app=web', true],
  ['app==web', true],
  ['app = web , tier = front', true],
  ['app!=web', false],
  ['nothing!=x', true],
  ['app in (web,db)', true],
  ['app in ( db )', false],
  ['app notin (db,x),tier', true],
  ['nothing notin (x)', true],
  ['nothing in (x)', false],
  ['a.b/c>2', true],
  ['a.b/c<3', false],
  ['app>1', false],
  ['empty=', true],
  ['empty in (,x)', true],
  ['app=,tier=front', false],
  ['in in (x)', false],
])('reads the label selector "%s"', (text, expected) => {
  expect(parseLabelSelector(text).matches(labels)).toBe(expected);
});

it.each([
  ['app=web,', 'expected another requirement'],
  ['=web', 'expected a label key, found "="'],
  ['app in web', 'expected "(", found "web"'],
  ['app in (web', 'expected ")", found the end'],
  ['app web', 'expected =, ==, !=, in, notin, < or > after "app", found "web"'],
  ['-app=x', '"-app" is not a label key'],
  ['app=a/b', '"a/b" is not a label value'],
  ['app>x', 'not an integer'],
  ['app=(x)', 'expected a value'],
  [',', 'expected a label key'],
])('refuses the label selector "%s" and says why', (text, why) => {
  let error: unknown;
  try {
    parseLabelSelector(text);
  } catch (thrown) {
    error = thrown;
  }
  expect(isInvalid(error)).toBe(true);
  expect((error as Error).message).toContain(why);
});

it("gives LabelSelectors Kubernetes' meaning", () => {
  expect(labelSelectorMatches(undefined, labels)).toBe(false);
  expect(labelSelectorMatches({}, labels)).toBe(true);
  expect(labelSelectorMatches({ matchLabels: { app: 'web' } }, undefined)).toBe(false);
  const matchExpressions = [
    { key: 'tier', operator: 'In', values: ['front'] },
    { key: 'x', operator: 'DoesNotExist' },
  ];
  expect(labelSelectorMatches({ matchLabels: { app: 'web' }, matchExpressions }, labels)).toBe(true);
  expect(labelSelectorMatches({ matchExpressions: [{ key: 'app', operator: 'Like', values: ['w'] }] }, labels)).toBe(false);
});

it('does not take what every object inherits for a label', () => {
  expect(parseLabelSelector('constructor').matches({})).toBe(false);
});

it('reads field selectors with =, == and !=, and escapes', () => {
  const read = (field: string): string => ({ 'spec.nodeName': 'n1', x: 'a,b=c' })[field] ?? '';
  const matches = (text: string): boolean => parseFieldSelector(text).matches(read);
  expect(['spec.nodeName=n1', 'spec.nodeName==n1', 'spec.nodeName!=', 'status.phase=', 'x=a\\,b\\=c', ''].map(matches)).toEqual(
    Array(6).fill(true),
  );
  expect(['spec.nodeName!=n1', 'spec.nodeName=', 'spec.nodeName=n1,x=a'].map(matches)).toEqual([false, false, false]);
});

it.each(['spec.nodeName', 'a in (b)', 'x=a=b', '=a', 'x=a\\b'])('refuses the field selector "%s"', (text) => {
  expect(() => parseFieldSelector(text)).toThrow('cannot read field selector');
});

const joined = (count: number, term: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => term(at)).join(',');

it.each([
  [
    'a label selector of 1,001 keys',
    () => parseLabelSelector(joined(1_001, (at) => `k${at}`)),
    'too many: must have at most 1000',
  ],
  ['a set of 1,000 values', () => parseLabelSelector(`k in (${joined(1_001, (at) => `v${at}`)})`), 'too many'],
  ['a label selector above 64 KiB', () => parseLabelSelector(' '.repeat(65_537)), 'too long: must have at most 65536'],
  ['a field selector of 1,001 terms', () => parseFieldSelector(joined(1_001, (at) => `f${at}=x`)), 'too many'],
  ['a field selector above 64 KiB', () => parseFieldSelector(`a=${'x'.repeat(65_536)}`), 'too long'],
])('refuses %s', (_title, read, why) => {
  expect(read).toThrow(why);
});

it('reads selectors of 1,000 terms', () => {
  expect(parseLabelSelector(joined(1_000, (at) => `k${at}`)).requirements).toHaveLength(1_000);
  expect(parseFieldSelector(joined(1_000, (at) => `f${at}=x`)).requirements).toHaveLength(1_000);
});

it('repeats no more than the beginning of a selector in its refusal', () => {
  const long = 'x'.repeat(60_000);
  for (const read of [() => parseLabelSelector(`${long}=?`), () => parseFieldSelector(long)])
    expect(read).toThrow(expect.objectContaining({ message: expect.stringMatching(/^.{1,600}$/s) }));
});

it.each<[string, Parameters<typeof formatLabelSelector>[0], string]>([
  ['labels, in the order of the keys', { matchLabels: { tier: 'a', app: 'web' } }, 'app=web,tier=a'],
  [
    'expressions, with sorted values',
    {
      matchLabels: { m: '1' },
      matchExpressions: [
        { key: 'z', operator: 'Exists' },
        { key: 'a', operator: 'In', values: ['y', 'x'] },
        { key: 'b', operator: 'NotIn', values: ['q'] },
        { key: 'c', operator: 'DoesNotExist' },
      ],
    },
    'a in (x,y),b notin (q),!c,m=1,z',
  ],
  ['one that chooses all', {}, ''],
  ['none', undefined, ''],
  ['one with an operator that does not exist', { matchExpressions: [{ key: 'a', operator: 'Like' }] }, ''],
])('writes a selector of %s', (_title, selector, text) => {
  expect(formatLabelSelector(selector)).toBe(text);
  if (text !== '') expect(parseLabelSelector(text).requirements.length).toBeGreaterThan(0);
});

it('writes labels in the order of their keys', () => {
  expect([formatLabels({ b: '2', a: '1' }), formatLabels({}), formatLabels(undefined)]).toEqual(['a=1,b=2', '', '']);
});
