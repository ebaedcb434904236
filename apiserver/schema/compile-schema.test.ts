import { describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '../../api/meta/merge-patch.ts';
import { compileSchema } from './compile-schema.ts';

const PATH = 'spec.versions[0].schema.openAPIV3Schema';

function compile(spec: Json, more: JsonObject = {}) {
  return compileSchema({ type: 'object', properties: { spec }, ...more }, { path: PATH });
}

/** The violations of a schema for `spec`, as "path below spec: description". */
function refusals(spec: Json, more: JsonObject = {}): string[] {
  const { violations = [] } = compile(spec, more);
  return violations.map(
    ({ field, description }) => `${field.replace(`${PATH}.properties[spec]`, '~').replace(PATH, '^')}: ${description}`,
  );
}

function schemaOf(spec: Json, more: JsonObject = {}) {
  const { schema, violations } = compile(spec, more);
  if (schema === undefined) throw new Error(JSON.stringify(violations, null, 1));
  return schema;
}

/** What breaks the schema for a value of spec, as Kubernetes writes it. */
function complaints(schema: Json, value: Json, before?: Json): string[] {
  const compiled = schemaOf(schema);
  const violations = compiled.validate({ spec: value }, before === undefined ? undefined : { spec: before });
  return violations.map(({ field, description }) => `${field}: ${description}`);
}

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'object', properties, ...more });
const string = { type: 'string' };
const integer = { type: 'integer' };

describe('structural schemas', () => {
  test.each<[string, Json, string]>([
    [
      'a level without a type',
      object({ a: {} }),
      '~.properties[a].type: Required value: must not be empty for specified object fields',
    ],
    [
      'items without a type',
      object({ a: { type: 'array', items: {} } }),
      '~.properties[a].items.type: Required value: must not be empty for specified array items',
    ],
    ['a list without items', object({ a: { type: 'array' } }), '~.properties[a].items: Required value: must be specified'],
    [
      'an unknown type',
      object({ a: { type: 'text' } }),
      '~.properties[a].type: Unsupported value: "text": supported values: "object", "array", "string", "integer", "number", "boolean"',
    ],
    [
      'properties beside additionalProperties',
      object({ a: string }, { additionalProperties: string }),
      '~.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive: remove one of them',
    ],
    [
      'additionalProperties: false',
      { type: 'object', additionalProperties: false },
      '~.additionalProperties: Forbidden: additionalProperties cannot be set to false: unknown fields are pruned',
    ],
    [
      'uniqueItems',
      object({ a: { type: 'array', uniqueItems: true, items: string } }),
      '~.properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic: use x-kubernetes-list-type: set',
    ],
    [
      '$ref',
      object({ a: { $ref: '#/x' } }),
      '~.properties[a].$ref: Forbidden: $ref is not supported: write the schema out in place',
    ],
    [
      'an unknown keyword',
      object({ a: { type: 'string', maxLenght: 3 } }),
      '~.properties[a].maxLenght: Forbidden: unknown keyword of a schema: remove it',
    ],
    [
      'an unknown extension',
      object({ a: { type: 'string', 'x-kubernetes-nope': 3 } }),
      '~.properties[a].x-kubernetes-nope: Forbidden: unknown keyword of a schema: remove it',
    ],
    [
      'a type within anyOf',
      object({ a: { type: 'string', anyOf: [{ type: 'string' }] } }),
      '~.properties[a].anyOf[0].type: Forbidden: must be empty to be structural: move it out of allOf, anyOf, oneOf, not',
    ],
    [
      'a default within not',
      object({ a: { type: 'string', not: { default: 'x' } } }),
      '~.properties[a].not.default: Forbidden: must be empty to be structural: move it out of allOf, anyOf, oneOf, not',
    ],
    [
      'a property that only oneOf has',
      object({ a: string }, { oneOf: [{ properties: { b: { minLength: 1 } } }] }),
      '~.oneOf[0].properties[b]: Required value: is used in ~.oneOf[0], so it must be specified in the structure, too: give "b" a schema in properties',
    ],
    [
      'a type of int-or-string',
      object({ a: { type: 'string', 'x-kubernetes-int-or-string': true } }),
      '~.properties[a].type: Invalid value: "string": must be empty if x-kubernetes-int-or-string is true',
    ],
    [
      'an embedded resource that is empty',
      object({ a: { type: 'object', 'x-kubernetes-embedded-resource': true } }),
      '~.properties[a].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
    ],
    [
      'a list map without keys',
      object({ a: { type: 'array', 'x-kubernetes-list-type': 'map', items: object({ name: string }) } }),
      '~.properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map',
    ],
    [
      'an optional key of a list map',
      object({
        a: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: object({ name: string }),
        },
      }),
      '~.properties[a].items.properties[name].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
    ],
    [
      'keys of a list that is no map',
      object({ a: { type: 'array', 'x-kubernetes-list-map-keys': ['name'], items: string } }),
      '~.properties[a].x-kubernetes-list-map-keys: Forbidden: must be specified only if x-kubernetes-list-type is map',
    ],
    [
      'a set of granular objects',
      object({ a: { type: 'array', 'x-kubernetes-list-type': 'set', items: object({ name: string }) } }),
      '~.properties[a].items.x-kubernetes-map-type: Invalid value: "": must be atomic as item of a list with x-kubernetes-list-type=set',
    ],
    [
      'a list type of a string',
      object({ a: { type: 'string', 'x-kubernetes-list-type': 'set' } }),
      '~.properties[a].type: Invalid value: "string": must be array if x-kubernetes-list-type is specified',
    ],
    [
      'a default of the wrong type',
      object({ a: { type: 'integer', default: 'x' } }),
      '~.properties[a].default: Invalid value: "x": does not match its schema: Invalid value: "string": the object in body must be of type integer: "string"',
    ],
    [
      'a default that breaks a rule',
      object({ a: { type: 'integer', default: 1, 'x-kubernetes-validations': [{ rule: 'self > 1', message: 'too small' }] } }),
      '~.properties[a].default: Invalid value: 1: does not match its schema: Invalid value: "integer": too small',
    ],
    [
      'a default with unknown fields',
      object({ a: object({ b: string }, { default: { c: 1 } }) }),
      '~.properties[a].default: Invalid value: {"c":1}: must not have fields that the schema does not know: default.c',
    ],
    [
      'a pattern that JavaScript has and RE2 has not',
      object({ a: { type: 'string', pattern: '(?=a)b' } }),
      '~.properties[a].pattern: Invalid value: "(?=a)b": must be a valid regular expression, but isn\'t: error parsing regexp: invalid or unsupported Perl syntax: `(?=`',
    ],
    [
      'a minimum that is no number',
      object({ a: { type: 'integer', minimum: '1' } }),
      '~.properties[a].minimum: Invalid value: "1": must be a number',
    ],
    [
      'exclusiveMinimum as a number',
      object({ a: { type: 'integer', exclusiveMinimum: 1 } }),
      '~.properties[a].exclusiveMinimum: Invalid value: 1: must be true or false',
    ],
  ])('%s is refused', (_what, schema, expected) => {
    expect(refusals(schema).map((text) => text.replaceAll(`${PATH}.properties[spec]`, '~'))).toContain(expected);
  });

  test.each<[string, JsonObject, string]>([
    ['a nullable root', { nullable: true }, '^.nullable: Forbidden: nullable cannot be true at the root'],
    ['a root that is a list', { type: 'array', items: string }, '^.type: Invalid value: "array": must be object at the root'],
    [
      'metadata with labels',
      { properties: { metadata: object({ labels: { type: 'object', additionalProperties: string } }) } },
      '^.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified',
    ],
  ])('%s is refused', (_what, more, expected) => {
    expect(refusals(object({}), more)).toContain(expected);
  });

  test('no schema at all, too deep a schema and too large a schema are refused', () => {
    expect(compileSchema(undefined, { path: PATH }).violations?.[0]?.description).toContain('must be a schema');
    let deep: Json = string;
    for (let level = 0; level < 5000; level++) deep = { type: 'object', additionalProperties: deep };
    expect(refusals(deep)[0]).toContain('deeper than 64 levels');
    const wide = Object.fromEntries(Array.from({ length: 20_001 }, (_, at) => [`p${at}`, string]));
    expect(refusals(object(wide))[0]).toContain('more than 20000');
  });

  test('accepts the schemas that controller-gen and others generate as structural', () => {
    const intOrString: Json = { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] };
    const pattern: Json = {
      'x-kubernetes-int-or-string': true,
      allOf: [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }, { pattern: '^a' }],
    };
    const any = { 'x-kubernetes-preserve-unknown-fields': true };
    const ports = {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['port', 'protocol'],
      items: object({ port: integer, protocol: { type: 'string', default: 'TCP' } }, { required: ['port'] }),
    };
    const template = { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true };
    expect(refusals(object({ a: intOrString, b: pattern, c: any, ports, template }))).toEqual([]);
  });

  test('a stored schema is not refused for what is checked when it is defined', () => {
    const json = {
      type: 'object',
      properties: { a: { type: 'string', pattern: '(?=a)', 'x-kubernetes-validations': [{ rule: 'self.nope' }] } },
    };
    expect(compileSchema(json, { path: PATH }).violations).toHaveLength(2);
    const { schema } = compileSchema(json, { path: PATH, isStored: true });
    expect(schema?.validate({ a: 'x' }).map(({ description }) => description)).toEqual([
      'Invalid value: "x": a in body should match \'(?=a)\'',
      expect.stringContaining('the rule of the stored schema cannot be evaluated'),
    ]);
  });

  test('of which many levels are wrong are refused with the first hundred mistakes, not compared with each other', () => {
    const wrong = { type: 'objekt', properties: { a: { type: 'strin' } } };
    const levels = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`p${i}`, wrong]));
    expect(refusals(object(levels))).toHaveLength(100);
  });
});

describe('values', () => {
  test.each<[Json, Json, string[]]>([
    [{ ...integer, maximum: 10 }, 11, ['spec: Invalid value: 11: spec in body should be less than or equal to 10']],
    [{ ...integer, maximum: 10, exclusiveMaximum: true }, 10, ['spec: Invalid value: 10: spec in body should be less than 10']],
    [{ ...integer, minimum: 1 }, 0, ['spec: Invalid value: 0: spec in body should be greater than or equal to 1']],
    [{ ...integer, multipleOf: 3 }, 7, ['spec: Invalid value: 7: spec in body should be a multiple of 3']],
    [{ type: 'number', multipleOf: 0.1 }, 0.3, []],
    [
      { ...integer, format: 'int32' },
      2 ** 31,
      ['spec: Invalid value: 2147483648: spec in body must be within the range of format int32'],
    ],
    [integer, 1.5, ['spec: Invalid value: "number": spec in body must be of type integer: "number"']],
    [integer, null, ['spec: Invalid value: "null": spec in body must be of type integer: "null"']],
    [{ ...integer, nullable: true }, null, []],
    [string, 5, ['spec: Invalid value: "integer": spec in body must be of type string: "integer"']],
    [{ ...string, enum: ['a', 'b'] }, 'c', ['spec: Unsupported value: "c": supported values: "a", "b"']],
    [{ ...string, maxLength: 2 }, 'abc', ['spec: Too long: may not be more than 2 bytes']],
    [{ ...string, maxLength: 2 }, '😀😀', []],
    [{ ...string, minLength: 2 }, '😀', ['spec: Invalid value: "😀": spec in body should be at least 2 chars long']],
    [{ ...string, pattern: '^a+$' }, 'b', ['spec: Invalid value: "b": spec in body should match \'^a+$\'']],
    [
      { ...string, format: 'date' },
      '2023-02-29',
      ['spec: Invalid value: "2023-02-29": spec in body must be of type date: "2023-02-29"'],
    ],
    [{ ...string, format: 'unheard-of' }, 'x', []],
    [{ type: 'array', items: string, maxItems: 1 }, ['a', 'b'], ['spec: Too many: 2: must have at most 1 items']],
    [{ type: 'array', items: string, minItems: 1 }, [], ['spec: Invalid value: 0: spec in body should have at least 1 items']],
    [{ type: 'array', items: string, 'x-kubernetes-list-type': 'set' }, ['a', 'b', 'a'], ['spec[2]: Duplicate value: "a"']],
    [object({ a: string }, { required: ['a'] }), {}, ['spec.a: Required value']],
    [
      { type: 'object', additionalProperties: integer, maxProperties: 1 },
      { a: 1, 'b/c': 'x' },
      [
        'spec: Too many: 2: must have at most 1 items',
        'spec[b/c]: Invalid value: "string": spec[b/c] in body must be of type integer: "string"',
      ],
    ],
    [
      { 'x-kubernetes-int-or-string': true },
      true,
      ['spec: Invalid value: "boolean": spec in body must be of type integer or string: "boolean"'],
    ],
    [
      { ...integer, anyOf: [{ minimum: 5 }, { enum: [1] }] },
      2,
      ['spec: Invalid value: 2: "spec" must validate at least one schema (anyOf)'],
    ],
    [
      { ...integer, oneOf: [{ minimum: 1 }, { minimum: 5 }] },
      6,
      ['spec: Invalid value: 6: "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives'],
    ],
    [{ ...integer, not: { minimum: 5 } }, 6, ['spec: Invalid value: 6: "spec" must not validate the schema (not)']],
    [
      { ...integer, allOf: [{ minimum: 5 }] },
      4,
      [
        'spec: Invalid value: 4: "spec" must validate all the schemas (allOf)',
        'spec: Invalid value: 4: spec in body should be greater than or equal to 5',
      ],
    ],
  ])('%j judges %j', (schema, value, expected) => {
    expect(complaints(schema, value)).toEqual(expected);
  });

  test('a list map has one item for each key, and its items are correlated by key', () => {
    const schema = {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: object({ name: string, size: { ...integer, maximum: 5 } }, { required: ['name'] }),
    };
    expect(complaints(schema, [{ name: 'a' }, { name: 'a' }])).toEqual(['spec[1]: Duplicate value: {"name":"a"}']);
    const before = [
      { name: 'a', size: 9 },
      { name: 'b', size: 1 },
    ];
    expect(
      complaints(
        schema,
        [
          { name: 'b', size: 8 },
          { name: 'a', size: 9 },
        ],
        before,
      ),
    ).toEqual(['spec[0].size: Invalid value: 8: spec[0].size in body should be less than or equal to 5']);
  });

  test('what was invalid and has not changed passes an update', () => {
    const schema = object({ a: { ...integer, maximum: 5 }, b: { ...string, enum: ['x'] } });
    expect(complaints(schema, { a: 9, b: 'y' })).toHaveLength(2);
    expect(complaints(schema, { a: 9, b: 'y' }, { a: 9, b: 'x' })).toEqual([
      'spec.b: Unsupported value: "y": supported values: "x"',
    ]);
    expect(complaints(schema, { a: 9, b: 'x' }, { a: 9, b: 'z' })).toEqual([]);
  });

  test('an embedded resource has an apiVersion and a kind, and keeps them and its metadata', () => {
    const schema = schemaOf(object({ template: object({ spec: object({}) }, { 'x-kubernetes-embedded-resource': true }) }));
    expect(schema.validate({ spec: { template: { spec: {} } } }).map(({ field }) => field)).toEqual([
      'spec.template.apiVersion',
      'spec.template.kind',
    ]);
    const kept = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x', labels: { a: 'b' } }, spec: {} };
    const given: JsonObject = { spec: { template: structuredClone(kept), x: 1 } };
    expect(schema.prune(given)).toEqual(['spec.x']);
    expect(given).toEqual({ spec: { template: kept } });
  });

  test('the metadata of an embedded resource has the fields of metadata only, also where others are preserved', () => {
    const open = { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true };
    const given: JsonObject = {
      metadata: { name: 'own' },
      spec: { template: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x', bogus: 1 }, any: 1 } },
    };
    expect(schemaOf(object({ template: open })).prune(given)).toEqual(['spec.template.metadata.bogus']);
    expect(given.spec).toEqual({ template: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' }, any: 1 } });
  });
});

describe('defaults and pruning', () => {
  test('defaults are set at all levels, and those within a default, too', () => {
    const schema = schemaOf(
      object({
        a: object({ b: { ...integer, default: 1 }, c: { ...string, nullable: true, default: 'c' } }, { default: {} }),
        list: { type: 'array', items: object({ d: { ...integer, default: 4 } }) },
      }),
    );
    const given: JsonObject = { spec: { list: [{}, { d: null }] } };
    schema.applyDefaults(given);
    expect(given).toEqual({ spec: { a: { b: 1, c: 'c' }, list: [{ d: 4 }, { d: 4 }] } });
    const nulls: JsonObject = { spec: { a: { b: null, c: null }, list: null } };
    schema.applyDefaults(nulls);
    expect(nulls).toEqual({ spec: { a: { b: 1, c: null } } });
  });

  test('unknown fields are removed, but not where they are preserved', () => {
    const schema = schemaOf(
      object({
        a: object({ b: string }),
        any: { 'x-kubernetes-preserve-unknown-fields': true },
        kept: object({ inner: object({}) }, { 'x-kubernetes-preserve-unknown-fields': true }),
        map: { type: 'object', additionalProperties: object({}) },
      }),
    );
    const given: JsonObject = {
      apiVersion: 'v1',
      kind: 'X',
      metadata: { name: 'x', zone: 1 },
      other: 1,
      spec: { a: { b: 'x', c: 1 }, any: { x: { y: 1 } }, kept: { x: 1, inner: { x: 1 } }, map: { k: { x: 1 } } },
    };
    expect(schema.prune(given)).toEqual(['other', 'spec.a.c', 'spec.kept.inner.x', 'spec.map[k].x']);
    expect(given).toEqual({
      apiVersion: 'v1',
      kind: 'X',
      metadata: { name: 'x', zone: 1 },
      spec: { a: { b: 'x' }, any: { x: { y: 1 } }, kept: { x: 1, inner: {} }, map: { k: {} } },
    });
  });

  test('a member called __proto__ is data like any other', () => {
    const schema = schemaOf({ type: 'object', additionalProperties: object({ a: { ...integer, default: 1 } }) });
    const given = JSON.parse('{"spec": {"__proto__": {"x": 1}}}') as JsonObject;
    expect(schema.prune(given)).toEqual(['spec[__proto__].x']);
    schema.applyDefaults(given);
    expect(JSON.stringify(given)).toBe('{"spec":{"__proto__":{"a":1}}}');
    expect(schema.validate(given)).toEqual([]);
  });
});
