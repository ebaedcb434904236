import { expect, test } from 'vitest';
import type { Json, JsonObject } from '../../api/meta/merge-patch.ts';
import { compileSchema } from './compile-schema.ts';

const object = (properties: JsonObject): JsonObject => ({ type: 'object', properties });
const named = (count: number, property: (at: number) => Json): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, property(at)]));
const items = (count: number): JsonObject[] => Array.from({ length: count }, () => ({}));
const compile = (properties: JsonObject) => compileSchema({ type: 'object', properties }, { path: '^' });

test.each<[string, Json, number]>([
  ['numbers', { type: 'integer', default: 1 }, 100],
  ['long texts', { type: 'string', default: 'x'.repeat(1000) }, 9],
  ['objects', { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, default: { a: [1, 2, 3] } }, 20],
])('defaults that are %s are refused once they are more than an object may have', (_what, property, most) => {
  const { schema } = compile({ list: { type: 'array', items: object(named(100, () => property)) } });
  expect(schema!.applyDefaults({ list: items(most) })).toEqual([]);
  const list = items(most + 2);
  expect(schema!.applyDefaults({ list })).toEqual([
    expect.objectContaining({ field: '', description: expect.stringContaining('write more than 10000 values into the object') }),
  ]);
  expect(list.at(-1)).toEqual({});
});

const large = (count: number): Json => ({
  type: 'array',
  items: object(named(10, (at) => ({ type: 'integer', default: at }))),
  default: items(count),
});

test('a default that the ones within it make too large is refused where the kind is defined', () => {
  expect(compile({ list: large(999) }).violations).toBeUndefined();
  expect(compile({ list: large(1001) }).violations).toEqual([
    expect.objectContaining({
      field: '^.properties[list].default',
      description: expect.stringContaining('must not write more than 10000 values'),
    }),
  ]);
});

test('so are defaults that are too large together', () => {
  const { violations = [] } = compile(named(11, () => large(999)));
  expect(violations.map(({ field }) => field)).toEqual(['^.properties[p10].default']);
});

test('a copy of a default is the object of its own', () => {
  const { schema } = compile({ map: { type: 'object', additionalProperties: { type: 'integer' }, default: { a: 1 } } });
  const [first, second] = [{}, {}] as [JsonObject, JsonObject];
  schema!.applyDefaults(first);
  (first.map as JsonObject).a = 2;
  schema!.applyDefaults(second);
  expect(second).toEqual({ map: { a: 1 } });
});
