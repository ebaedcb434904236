import { describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '../../api/meta/merge-patch.ts';
import { compileSchema } from './compile-schema.ts';

const string = { type: 'string' };
const integer = { type: 'integer' };
type Rule = { rule: string; [name: string]: Json };

function specSchema(properties: JsonObject, rules: readonly Rule[], more: JsonObject = {}): Json {
  return {
    type: 'object',
    properties: { spec: { type: 'object', properties, 'x-kubernetes-validations': [...rules], ...more } },
  };
}

function complaints(schema: Json, spec: Json, before?: Json): string[] {
  const { schema: compiled, violations } = compileSchema(schema, { path: '^' });
  if (compiled === undefined) throw new Error(JSON.stringify(violations));
  const found = compiled.validate(
    { metadata: { name: 'web' }, spec },
    before === undefined ? undefined : { metadata: { name: 'web' }, spec: before },
  );
  return found.map(({ field, description }) => `${field}: ${description}`);
}

function refusals(schema: Json): string[] {
  return (compileSchema(schema, { path: '^' }).violations ?? []).map(({ field, description }) => `${field}: ${description}`);
}

describe('rules', () => {
  const replicas = { replicas: integer, minReplicas: integer };

  test('a rule that is false refuses the object with its message, its expression, or itself', () => {
    const rule = 'self.minReplicas <= self.replicas';
    const spec = { replicas: 1, minReplicas: 2 };
    expect(complaints(specSchema(replicas, [{ rule, message: 'too few' }]), spec)).toEqual([
      'spec: Invalid value: "object": too few',
    ]);
    expect(complaints(specSchema(replicas, [{ rule }]), spec)).toEqual([`spec: Invalid value: "object": failed rule: ${rule}`]);
    const messageExpression = '"at least " + string(self.minReplicas)';
    expect(complaints(specSchema(replicas, [{ rule, messageExpression, message: 'x' }]), spec)).toEqual([
      'spec: Invalid value: "object": at least 2',
    ]);
    const failing = 'string(1 / (self.minReplicas - 2))';
    expect(complaints(specSchema(replicas, [{ rule, messageExpression: failing, message: 'plain' }]), spec)).toEqual([
      'spec: Invalid value: "object": plain',
    ]);
    expect(complaints(specSchema(replicas, [{ rule }]), { replicas: 2, minReplicas: 2 })).toEqual([]);
  });

  test('reason and fieldPath go into the violation', () => {
    const rule = { rule: 'self.replicas > 0', reason: 'FieldValueForbidden', fieldPath: '.replicas', message: 'no' };
    expect(complaints(specSchema(replicas, [rule]), { replicas: 0 })).toEqual(['spec.replicas: Forbidden: no']);
  });

  test("a rule that fails on an object rejects it with the rule's message", () => {
    expect(complaints(specSchema(replicas, [{ rule: 'self.replicas > 0' }]), {})).toEqual([
      'spec: Invalid value: "object": no such key: replicas evaluating rule: self.replicas > 0',
    ]);
  });

  test('rules at the root see the names of the object, and names that CEL cannot say are escaped', () => {
    const schema: Json = {
      type: 'object',
      properties: {
        spec: { type: 'object', properties: { 'with-dash': string, namespace: string, 'a/b.c': string, __x: string } },
      },
      'x-kubernetes-validations': [
        { rule: 'self.metadata.name == "web" && self.spec.with__dash__dash == "d" && self.spec.__namespace__ == "n"' },
        { rule: 'self.spec.a__slash__b__dot__c == "s" && self.spec.__underscores__x == "u"' },
      ],
    };
    expect(complaints(schema, { 'with-dash': 'd', namespace: 'n', 'a/b.c': 's', __x: 'u' })).toEqual([]);
  });

  test('transition rules see the object before; without one they do not run, unless they say so', () => {
    const immutable = specSchema(replicas, [{ rule: 'self.replicas == oldSelf.replicas', message: 'immutable' }]);
    expect(complaints(immutable, { replicas: 1 })).toEqual([]);
    expect(complaints(immutable, { replicas: 1 }, { replicas: 1 })).toEqual([]);
    expect(complaints(immutable, { replicas: 2 }, { replicas: 1 })).toEqual(['spec: Invalid value: "object": immutable']);
    const optional = { rule: 'oldSelf.hasValue() || self.replicas == 1', optionalOldSelf: true, message: 'starts with 1' };
    expect(complaints(specSchema(replicas, [optional]), { replicas: 2 })).toEqual([
      'spec: Invalid value: "object": starts with 1',
    ]);
    expect(complaints(specSchema(replicas, [optional]), { replicas: 2 }, { replicas: 1 })).toEqual([]);
  });

  test('a rule that was broken before, of a value that has not changed, passes', () => {
    const schema = specSchema({ a: { ...string, 'x-kubernetes-validations': [{ rule: 'self != "bad"' }] }, b: string }, []);
    expect(complaints(schema, { a: 'bad', b: '2' }, { a: 'bad', b: '1' })).toEqual([]);
    expect(complaints(schema, { a: 'bad' }, { a: 'good' })).toHaveLength(1);
  });

  test('items of list maps are compared with those of the same key, sets and list maps without order', () => {
    const ports = {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: {
        type: 'object',
        required: ['name'],
        properties: { name: string, port: integer },
        'x-kubernetes-validations': [{ rule: 'self.port == oldSelf.port', message: 'fixed' }],
      },
    };
    const tags = { type: 'array', 'x-kubernetes-list-type': 'set', items: string };
    const schema = specSchema({ ports, tags }, [{ rule: 'self == oldSelf || self.tags != oldSelf.tags', message: 'same' }]);
    const before = {
      ports: [
        { name: 'a', port: 1 },
        { name: 'b', port: 2 },
      ],
      tags: ['x', 'y'],
    };
    expect(
      complaints(
        schema,
        {
          ports: [
            { name: 'b', port: 2 },
            { name: 'a', port: 1 },
          ],
          tags: ['y', 'x'],
        },
        before,
      ),
    ).toEqual([]);
    expect(
      complaints(
        schema,
        {
          ports: [
            { name: 'b', port: 3 },
            { name: 'c', port: 1 },
          ],
          tags: ['z'],
        },
        before,
      ),
    ).toEqual(['spec.ports[0]: Invalid value: "object": fixed']);
  });

  test('formats and int-or-string have the types that Kubernetes gives them', () => {
    const properties = {
      at: { ...string, format: 'date-time' },
      for: { ...string, format: 'duration' },
      bytes: { ...string, format: 'byte' },
      port: { 'x-kubernetes-int-or-string': true },
      share: { type: 'number' },
    };
    const rules = [
      { rule: 'self.at > timestamp("2020-01-01T00:00:00Z") && self.__for__ == duration("90s")' },
      { rule: 'self.bytes == b"abc" && (type(self.port) == int ? self.port < 10 : self.port == "http")' },
      { rule: 'self.share == 2.0 && type(self.share) == double' },
    ];
    expect(
      complaints(specSchema(properties, rules), {
        at: '2021-01-01T00:00:00Z',
        for: '1m30s',
        bytes: 'YWJj',
        port: 'http',
        share: 2,
      }),
    ).toEqual([]);
    expect(
      complaints(specSchema(properties, rules), { at: '2021-01-01T00:00:00Z', for: '90s', bytes: 'YWJj', port: 5, share: 2 }),
    ).toEqual([]);
  });

  test('rules wait until the types are right', () => {
    const schema = specSchema(replicas, [{ rule: 'self.replicas > 0' }]);
    expect(complaints(schema, { replicas: 'x' })).toEqual([
      'spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string"',
      expect.stringContaining('some validation rules were not checked'),
    ]);
  });

  test('a rule that takes too long is a violation that says so, and ends the rest', () => {
    const rule = 'self.list.all(a, self.list.all(b, self.list.all(c, a + b + c >= 0)))';
    const schema = specSchema({ list: { type: 'array', items: integer } }, [{ rule }, { rule: 'false' }]);
    const found = complaints(schema, { list: Array.from({ length: 300 }, (_, at) => at) });
    expect(found).toHaveLength(1);
    expect(found[0]).toContain('running out of cost budget');
    expect(found[0]).toContain(rule);
  });

  test('rules on many items share a budget', () => {
    const item = {
      ...integer,
      'x-kubernetes-validations': [{ rule: '[1,2,3,4,5,6,7,8,9,10].all(x, [1,2,3,4,5,6,7,8,9,10].all(y, x + y > self))' }],
    };
    const schema = specSchema({ list: { type: 'array', items: item } }, []);
    const found = complaints(schema, { list: Array.from({ length: 20_000 }, () => 0) });
    expect(found).toHaveLength(1);
    expect(found[0]).toContain('running out of cost budget');
  });
});

describe('rules that are refused when the kind is defined', () => {
  const where = '^.properties[spec].x-kubernetes-validations[0]';
  test.each<[Rule, string]>([
    [
      { rule: 'self.nope == 1' },
      `${where}.rule: Invalid value: "self.nope == 1": compilation failed: undefined field 'nope' (at character 6)`,
    ],
    [{ rule: 'self.a' }, `${where}.rule: Invalid value: "self.a": compilation failed: must evaluate to bool, not int`],
    [
      { rule: 'authorizer.group("x") == null' },
      `${where}.rule: Invalid value: "authorizer.group(\\"x\\") == null": compilation failed: undeclared reference to 'authorizer' (at character 1)`,
    ],
    [{ rule: ' ' }, `${where}.rule: Required value: rule is not specified`],
    [
      { rule: 'true', messageExpression: 'self.a' },
      `${where}.messageExpression: Invalid value: "self.a": compilation failed: must evaluate to string, not int`,
    ],
    [
      { rule: 'true', reason: 'Nope' },
      `${where}.reason: Unsupported value: "Nope": supported values: "FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"`,
    ],
    [
      { rule: 'true', fieldPath: '.b' },
      `${where}.fieldPath: Invalid value: ".b": does not refer to a valid field: write it as ".spec.replicas" or "['with-dash']", from where the rule stands`,
    ],
    [{ rule: 'true', nope: 1 }, `${where}.nope: Forbidden: unknown field of a rule`],
    [
      { rule: 'true', optionalOldSelf: true },
      `${where}.optionalOldSelf: Forbidden: may not be set if oldSelf is not used in the rule`,
    ],
    [{ rule: 'true', message: 'a\nb' }, `${where}.message: Invalid value: "a\\nb": message must not contain line breaks`],
  ])('%j', (rule, expected) => {
    expect(refusals(specSchema({ a: integer }, [rule]))).toEqual([expected]);
  });

  test('mistakes of the structure, of rules and of defaults, all at once', () => {
    const properties: JsonObject = {
      untyped: { description: 'x' },
      text: { type: 'text' },
      size: { type: 'integer', minimum: 1, default: 0 },
      name: { type: 'string', pattern: '(', 'x-kubernetes-validations': [{ rule: 'self.nope()' }] },
    };
    const schema = specSchema(properties, [{ rule: 'self.size > ' }, { rule: 'self.missing' }]);
    const at = '^.properties[spec].properties';
    expect(refusals(schema).map((text) => text.slice(0, text.indexOf(': ')))).toEqual([
      `${at}[text].type`,
      `${at}[name].pattern`,
      `${at}[untyped].type`,
      '^.properties[spec].x-kubernetes-validations[0].rule',
      '^.properties[spec].x-kubernetes-validations[1].rule',
      `${at}[name].x-kubernetes-validations[0].rule`,
      `${at}[size].default`,
    ]);
  });

  test.each<[string, JsonObject, string]>([
    ['properties', { type: 'object', properties: [] }, '.properties'],
    ['additionalProperties', { type: 'object', additionalProperties: false }, '.additionalProperties'],
    ['x-kubernetes-list-type', { type: 'array', items: string, 'x-kubernetes-list-type': 'mpa' }, '.x-kubernetes-list-type'],
    ['x-kubernetes-int-or-string', { 'x-kubernetes-int-or-string': 1 }, '.x-kubernetes-int-or-string'],
  ])('no mistakes that a wrong %s only seems to cause', (_, part, path) => {
    const rules = [{ rule: 'self.a.b == oldSelf.a.c' }];
    const items = part.items && { items: { ...string, 'x-kubernetes-validations': [{ rule: 'self == oldSelf' }] } };
    const schema = specSchema({ a: { ...part, ...items } }, part.properties || 'additionalProperties' in part ? rules : []);
    expect(refusals(schema).map((text) => text.slice(0, text.indexOf(': ')))).toEqual([
      `^.properties[spec].properties[a]${path}`,
    ]);
  });

  test('oldSelf of an item of a list that is no map', () => {
    const items = { ...string, 'x-kubernetes-validations': [{ rule: 'self == oldSelf' }] };
    expect(refusals(specSchema({ list: { type: 'array', items } }, []))[0]).toContain(
      'oldSelf cannot be used on the uncorrelatable portion',
    );
  });

  test('more rules than a definition may have, with the path of the first one that is too many', () => {
    const rules = (count: number): Rule[] => Array.from({ length: count }, () => ({ rule: 'true' }));
    const level = (count: number): Json => ({ type: 'object', properties: {}, 'x-kubernetes-validations': rules(count) });
    const levels = (count: number, last: number) =>
      specSchema(
        { ...Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, level(100)])), last: level(last) },
        [],
      );
    expect(refusals(levels(4, 100))).toEqual([]);
    const where = '^.properties[spec].properties';
    expect(refusals(levels(6, 1))).toEqual([
      `${where}[p5].x-kubernetes-validations: Forbidden: the definition has more than 500 rules, of all versions together: join some with &&`,
    ]);
  });

  test('rules of stored schemas are counted, but not refused', () => {
    const schema = specSchema({ a: integer }, [{ rule: 'self.a > 0' }]);
    const rules = { count: 500 };
    expect(compileSchema(schema, { path: '^', rules, isStored: true }).violations).toBeUndefined();
    expect(compileSchema(schema, { path: '^', rules }).violations).toHaveLength(1);
    expect(rules.count).toBe(502);
  });
});
