import { describe, expect, test, vi } from 'vitest';
import type { Json } from '../../api/meta/merge-patch.ts';
import type { SchemaNode } from '../schema/schema-node.ts';
import { Budget, BudgetExceeded, PREPARED } from './budget.ts';
import { expressionCompiler } from './environment.ts';
import { keptBy } from './kept.ts';
import { CelError, celValue } from './values.ts';

const compiler = expressionCompiler({ variables: { self: 'dyn' } });
const plain = { nullable: false, intOrString: false, preserveUnknownFields: false, embeddedResource: false };
const times = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

function run(source: string, self: Json, node?: SchemaNode, budget = new Budget(500_000, source)) {
  const left = budget.left;
  const value = compiler.compile(source, ['bool']).evaluate({ self: celValue(self, node, budget) }, budget);
  return { value, steps: left - budget.left };
}

const textOf = (format: string): SchemaNode => ({ ...plain, type: 'string', format });
const listOf = (items: SchemaNode): SchemaNode => ({ ...plain, type: 'array', items });

describe('items of a list become values one by one', () => {
  const dates = ['2020-01-01', 'no date'];

  test.each(['self[0].getFullYear() == 2020', 'self.exists(date, date.getFullYear() == 2020)', 'self.exists(at, date, at == 0)'])(
    '%s does not read the second one',
    (source) => {
      expect(run(source, dates, listOf(textOf('date'))).value).toBe(true);
      expect(() => run('self.all(date, true)', dates, listOf(textOf('date')))).toThrow(CelError);
    },
  );
});

const map = Object.fromEntries(times(5000).map((at) => [`k${at}`, 1]));
const object: SchemaNode = {
  ...plain,
  type: 'object',
  properties: new Map(Object.keys(map).map((name) => [name, { ...plain, type: 'integer' } as const])),
};

describe('work on a large value takes as many steps as it has parts', () => {
  test.each<[string, Json, SchemaNode | undefined, number]>([
    ['size(self) == 5000', map, undefined, 5000],
    ['size(self) == 5000', map, object, 5000],
    ['self != {}', map, undefined, 5000],
    ['optional.ofNonZeroValue(self).hasValue()', map, undefined, 5000],
    ['self.exists(key, true)', map, undefined, 5000],
    ['size(self) == 30000', 'YWFh'.repeat(10_000), textOf('byte'), 4000],
    ['sets.contains([self], [self])', 'YWFh'.repeat(10_000), textOf('byte'), 7000],
    ['self[0] == timestamp("2020-01-01T00:00:00Z")', ['2020-01-01T00:00:00Z'], listOf(textOf('date-time')), 40],
    ['self == duration("90s")', '90s', textOf('duration'), 6],
    ['self.getHours("Europe/Zurich") == 1', '2020-01-01T00:00:00Z', textOf('date-time'), 1050],
    ['!self.a.contains(self.b)', { a: 'a'.repeat(10_000), b: 'b'.repeat(1000) }, undefined, 100_000],
    ['self.a.lastIndexOf(self.b) < 0', { a: 'a'.repeat(10_000), b: 'b'.repeat(1000) }, undefined, 100_000],
    ['self.a.split(self.b).size() == 1', { a: 'a'.repeat(10_000), b: 'b'.repeat(1000) }, undefined, 100_000],
    ['self.a.replace(self.b, "") == self.a', { a: 'a'.repeat(10_000), b: 'b'.repeat(1000) }, undefined, 100_000],
    ['self.lowerAscii() != self', 'aA'.repeat(10_000), undefined, 5000],
    ['size("%s".format([self])) > 0', times(100).reduce<Json>((inner) => [inner], 'a'.repeat(1000)), undefined, 10_000],
    ['self.matches(self)', 'a'.repeat(100), undefined, 2000],
    ['!(self in {"a": 1})', 'a'.repeat(10_000), undefined, 300],
    ['self.exists(x, 1 / x == 1)', [...times(100).map(() => 0), 1], undefined, 5000],
    ['self.all(x, 1 / x == 1 || true)', times(100).map(() => 0), undefined, 5000],
    ['isIP(self)', '10.0.0.1', undefined, 40],
    ['quantity(self) == quantity("1")', '1000m', undefined, 60],
    ['isSemver(self)', '1.2.3', undefined, 40],
    ['size(url(self).getQuery()) == 1', `/?${'a&'.repeat(1000)}`, undefined, 2000],
  ])('%s', (source, self, node, least) => {
    const { value, steps } = run(source, self, node);
    expect(value).toBe(true);
    expect(steps).toBeGreaterThanOrEqual(least);
    expect(steps).toBeLessThan(3 * least + 100);
  });

  test.each([
    'size(self.many.split("").map(x, self.text).join("")) > 0',
    'size("%s".format([self.many.split("").map(x, self.text)])) > 0',
    'size("%s".format([self.many.split("").map(x, [self.text])])) > 0',
  ])('a text that would be too long is never made: %s', (source) => {
    expect(() => run(source, { many: 'x'.repeat(60_000), text: 'x'.repeat(100_000) })).toThrow(BudgetExceeded);
  });
});

describe('what is prepared', () => {
  test('is paid once by a work and its parts, and again after many others', () => {
    const budget = new Budget(1000, 'all');
    const part = budget.part(500, 'part');
    part.prepare('a', 10);
    part.prepare('a', 10);
    budget.prepare('a', 10);
    expect([part.left, budget.left]).toEqual([490, 1000]);
    for (const at of times(PREPARED)) part.prepare(`other ${at}`, 0);
    part.prepare('a', 10);
    expect(part.left).toBe(480);
  });

  test('is kept up to a bound, by when it was needed last', () => {
    const make = vi.fn((key: string) => key.toUpperCase());
    const kept = keptBy(2, make);
    expect(['a', 'b', 'a', 'c', 'a', 'b'].map(kept)).toEqual(['A', 'B', 'A', 'C', 'A', 'B']);
    expect(make.mock.calls.map(([key]) => key)).toEqual(['a', 'b', 'c', 'b']);
  });

  test('the format of times in a zone is made once, also for a zone that is unknown', () => {
    const made: unknown[] = [];
    const construct = (target: typeof Intl.DateTimeFormat, args: [string, Intl.DateTimeFormatOptions]): object => {
      made.push(args[1].timeZone);
      return Reflect.construct(target, args);
    };
    vi.stubGlobal('Intl', Object.create(Intl, { DateTimeFormat: { value: new Proxy(Intl.DateTimeFormat, { construct }) } }));
    const rule = (zone: string) => `self.all(at, timestamp("2020-07-01T00:00:00Z").getHours("${zone}") == 5)`;
    expect(run(rule('Asia/Karachi'), times(100)).value).toBe(true);
    expect(() => run(rule('Nowhere/Land'), times(100))).toThrow('the time zone is unknown');
    vi.unstubAllGlobals();
    expect(made).toEqual(['Asia/Karachi', 'Nowhere/Land']);
  });
});

describe('times out of range', () => {
  test.each(['+', '-'])('a time %s too much fails as other overflows do', (operator) => {
    const rule = `string(timestamp("5000-01-01T00:00:00Z") ${`${operator} duration("2500000h") `.repeat(20)}) != ""`;
    expect(() => run(rule, null)).toThrow('integer overflow');
  });
});

test('bytes are equal to the same bytes, however they were made', () => {
  expect(run('sets.equivalent([b"ab"], [b"a" + b"b"]) && !sets.contains([b"a"], ["a"])', null).value).toBe(true);
});
