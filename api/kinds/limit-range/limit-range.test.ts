import { describe, expect, it } from 'vitest';
import type { LimitRange } from '../../generated/types.ts';
import { kindNamed, kindOf } from '../index.ts';

const kind = kindNamed('LimitRange');
type Texts = Record<string, string>;
type Item = { type?: string } & { [K in 'max' | 'min' | 'default' | 'defaultRequest' | 'maxLimitRequestRatio']?: Texts };

function limits(...items: Item[]): LimitRange {
  const amounts = (texts: Texts) => Object.fromEntries(Object.entries(texts).map(([name, string]) => [name, { string }]));
  const built = items.map(({ type, ...parts }) => ({
    ...(type !== undefined && { type }),
    ...Object.fromEntries(Object.entries(parts).map(([part, texts]) => [part, amounts(texts)])),
  }));
  const range = { metadata: { name: 'l' }, spec: { limits: built } };
  kind.defaults(range);
  return range;
}

const refused = (...items: Item[]): string[] => kind.validate(limits(...items)).map(({ field }) => field);
const container = (parts: Item): Item => ({ type: 'Container', ...parts });

describe('the defaults of a limit range', () => {
  const defaultsOf = (item: Item) => {
    const { default: limit, defaultRequest } = limits(item).spec!.limits![0]!;
    const texts = (amounts: typeof limit) =>
      Object.fromEntries(Object.entries(amounts ?? {}).map(([name, { string }]) => [name, string]));
    return { limit: texts(limit), request: texts(defaultRequest) };
  };

  it.each<[string, Item, Texts, Texts]>([
    ['the maximum for both', container({ max: { cpu: '2' } }), { cpu: '2' }, { cpu: '2' }],
    ['the limit for the request', container({ default: { cpu: '1' }, max: { cpu: '2' } }), { cpu: '1' }, { cpu: '1' }],
    ['the minimum for the request', container({ min: { cpu: '100m' } }), {}, { cpu: '100m' }],
    ['the maximum before the minimum', container({ min: { cpu: '100m' }, max: { cpu: '2' } }), { cpu: '2' }, { cpu: '2' }],
    ['nothing that is said', container({ default: { cpu: '2' }, defaultRequest: { cpu: '1' } }), { cpu: '2' }, { cpu: '1' }],
    ['nothing for pods', { type: 'Pod', max: { cpu: '2' } }, {}, {}],
  ])('are %s', (_title, item, limit, request) => expect(defaultsOf(item)).toEqual({ limit, request }));
});

describe('a limit range', () => {
  it.each<[string, Item[], string[]]>([
    [
      'bounds of containers',
      [container({ min: { cpu: '100m' }, max: { cpu: '2', memory: '1Gi' }, maxLimitRequestRatio: { cpu: '10' } })],
      [],
    ],
    ['bounds of claims', [{ type: 'PersistentVolumeClaim', min: { storage: '1Gi' } }], []],
    ['bounds of what others define', [{ type: 'example.com/disk', max: { storage: '1Gi' } }], []],
    ['no type', [{ max: { cpu: '1' } }], ['spec.limits[0].type']],
    ['a type that does not exist', [{ type: 'Node', max: { cpu: '1' } }], ['spec.limits[0].type']],
    ['a type twice', [container({ max: { cpu: '1' } }), container({ max: { memory: '1Gi' } })], ['spec.limits[1].type']],
    [
      'defaults of pods',
      [{ type: 'Pod', default: { cpu: '1' }, defaultRequest: { cpu: '1' } }],
      ['spec.limits[0].default', 'spec.limits[0].defaultRequest'],
    ],
    ['claims without storage', [{ type: 'PersistentVolumeClaim', max: { cpu: '1' } }], ['spec.limits[0]']],
    [
      'storage of containers',
      [container({ min: { storage: '1Gi' } })],
      ['spec.limits[0].min[storage]', 'spec.limits[0].defaultRequest[storage]'],
    ],
    ['an amount that is none', [{ type: 'Pod', max: { cpu: 'much' } }], ['spec.limits[0].max[cpu]']],
    ['more at the least than at the most', [{ type: 'Pod', min: { cpu: '2' }, max: { cpu: '1' } }], ['spec.limits[0].min[cpu]']],
    [
      'a default request below the least',
      [container({ min: { cpu: '2' }, defaultRequest: { cpu: '1' } })],
      ['spec.limits[0].defaultRequest[cpu]'],
    ],
    [
      'a default request above the most',
      [container({ max: { cpu: '1' }, default: { cpu: '1' }, defaultRequest: { cpu: '2' } })],
      ['spec.limits[0].defaultRequest[cpu]', 'spec.limits[0].defaultRequest[cpu]'],
    ],
    [
      'a default limit below the least',
      [container({ min: { cpu: '2' }, default: { cpu: '1' }, defaultRequest: { cpu: '2' } })],
      ['spec.limits[0].defaultRequest[cpu]', 'spec.limits[0].default[cpu]'],
    ],
    [
      'a default limit above the most',
      [container({ max: { cpu: '1' }, default: { cpu: '2' }, defaultRequest: { cpu: '1' } })],
      ['spec.limits[0].default[cpu]'],
    ],
    ['a ratio below 1', [{ type: 'Pod', maxLimitRequestRatio: { cpu: '900m' } }], ['spec.limits[0].maxLimitRequestRatio[cpu]']],
    [
      'a ratio beyond its bounds',
      [{ type: 'Pod', min: { cpu: '500m' }, max: { cpu: '1' }, maxLimitRequestRatio: { cpu: '3' } }],
      ['spec.limits[0].maxLimitRequestRatio[cpu]'],
    ],
    [
      'devices of which more are allowed than requested',
      [container({ default: { 'example.com/gpu': '2' }, defaultRequest: { 'example.com/gpu': '1' } })],
      ['spec.limits[0].defaultRequest[example.com/gpu]'],
    ],
  ])('is judged when it has %s', (_title, items, fields) => expect(refused(...items)).toEqual(fields));

  it('shows what kubectl shows', () => {
    expect(kindOf('limits')).toBe(kind);
    const metadata = { name: 'l', creationTimestamp: { seconds: 60 } };
    expect(kind.columns.map(({ name, cell }) => [name, cell({ metadata }, new Date())])).toEqual([
      ['NAME', 'l'],
      ['CREATED AT', '1970-01-01T00:01:00Z'],
    ]);
  });
});
