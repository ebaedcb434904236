import { expect, test } from 'vitest';
import type { Json, JsonObject } from '../../api/meta/merge-patch.ts';
import { compileSchema } from './compile-schema.ts';

const many = <Item>(count: number, make: (at: number) => Item): Item[] => Array.from({ length: count }, (_, at) => make(at));
const named = (count: number, property: (at: number) => Json): JsonObject =>
  Object.fromEntries(many(count, (at) => [`p${at}`, property(at)]));

/** A hundred times a hundred alternatives, of which none is valid. */
const alternatives = (rule: Json): JsonObject => ({ anyOf: many(100, () => ({ anyOf: many(100, () => rule) })) });
const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

test.each<[string, JsonObject, Json]>([
  ['lengths', { type: 'string', ...alternatives({ minLength: 1, maxLength: 2 }) }, 'x'.repeat(200_000)],
  ['formats', { type: 'string', ...alternatives({ format: 'byte' }) }, 'x'.repeat(200_001)],
  ['counts of members', { ...open, ...alternatives({ maxProperties: 1 }) }, named(20_000, () => 1)],
  ['enumerations', { type: 'array', items: { type: 'string', enum: many(1000, String) } }, many(20_000, () => '0')],
])('%s of many items or alternatives exceed the budget of the object', (_what, schema, value) => {
  const compiled = compileSchema({ type: 'object', properties: { a: schema } }, { path: '^', isStored: true }).schema!;
  expect(compiled.validate({ a: value })).toEqual([
    expect.objectContaining({ description: expect.stringContaining('takes more than 1000000 steps') }),
  ]);
});

test('names that are required, and properties, of alternatives exceed it on many items', () => {
  const rules = { required: many(1000, (at) => `n${at}`), properties: named(1000, () => ({ enum: [1] })) };
  const items = { type: 'object', properties: named(1000, () => ({ type: 'integer' })), anyOf: [rules, { required: [] }] };
  const compiled = compileSchema({ type: 'object', properties: { a: { type: 'array', items } } }, { path: '^', isStored: true });
  expect(compiled.schema?.validate({ a: many(100, () => ({})) })).toEqual([
    expect.objectContaining({ description: expect.stringContaining('takes more than 1000000 steps') }),
  ]);
});

test('patterns that take long to compile are refused together, with the path of the first one that is too many', () => {
  const patterns = (count: number) => named(count, (at) => ({ type: 'string', pattern: `[a-z]{900}${at}` }));
  const refused = (count: number) => compileSchema({ type: 'object', properties: patterns(count) }, { path: '^' }).violations;
  expect(refused(5)).toBeUndefined();
  expect(refused(300)).toEqual([
    expect.objectContaining({
      field: expect.stringMatching(/^\^\.properties\[p\d+\]\.pattern$/),
      description: expect.stringContaining('the patterns of the schema have more than 100000 instructions'),
    }),
  ]);
});
