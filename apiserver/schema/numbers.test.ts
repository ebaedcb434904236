import { describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '../../api/meta/merge-patch.ts';
import { compileSchema } from './compile-schema.ts';

/** What breaks the schema of spec for a value of it, after `before` in an update. */
function complaints(spec: Json, value: Json, before?: Json): string[] {
  const { schema, violations } = compileSchema({ type: 'object', properties: { spec } }, { path: 'schema' });
  if (schema === undefined) throw new Error(JSON.stringify(violations));
  const found = schema.validate({ spec: value }, before === undefined ? undefined : { spec: before });
  return found.map(({ field, description }) => `${field}: ${description}`);
}

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'object', properties, ...more });
const string = { type: 'string' };
const integer = { type: 'integer' };

describe('numbers that JSON cannot carry exactly', () => {
  const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const large = 2 ** 53;
  const why = 'must be within ±(2^53-1), as larger whole numbers would lose digits: write it as a text';

  test.each<[string, Json, Json, string]>([
    ['an integer', object({ a: integer }), { a: large }, `spec.a: Invalid value: ${large}: ${why}`],
    [
      'an integer or text',
      object({ a: { 'x-kubernetes-int-or-string': true } }),
      { a: -large },
      `spec.a: Invalid value: -${large}: ${why}`,
    ],
    [
      'an item',
      object({ a: { type: 'array', items: integer } }),
      { a: [1, large] },
      `spec.a[1]: Invalid value: ${large}: ${why}`,
    ],
    ['an unknown field', anything, { a: { b: [{ c: large }] } }, `spec.a.b[0].c: Invalid value: ${large}: ${why}`],
    [
      'an unknown field beside a known one',
      object({ k: string }, anything),
      { k: 'x', a: large },
      `spec.a: Invalid value: ${large}: ${why}`,
    ],
    [
      'a number beyond all',
      object({ a: { type: 'number' } }),
      { a: Number.POSITIVE_INFINITY },
      'spec.a: Invalid value: Infinity: is beyond what a number can be: write it as a text',
    ],
  ])('are refused: %s', (_, schema, value, complaint) => {
    expect(complaints(schema, value)).toEqual([complaint]);
  });

  test.each<[string, Json, Json, Json | undefined]>([
    ['the largest whole ones', object({ a: integer, b: integer }), { a: large - 1, b: 1 - large }, undefined],
    ['doubles that are to be such', object({ a: { type: 'number' } }), { a: 1e300 }, undefined],
    ['fractions', anything, { a: 0.1 }, undefined],
    ['what an object has already', anything, { a: [large], b: 1 }, { a: [large] }],
  ])('are others than %s', (_, schema, value, before) => {
    expect(complaints(schema, value, before)).toEqual([]);
  });
});
