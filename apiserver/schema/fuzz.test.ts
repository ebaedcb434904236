import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '../../api/meta/merge-patch.ts';
import { compileSchema } from './compile-schema.ts';
import type { CompiledSchema } from './compiled-schema.ts';

const ROUNDS = process.env.BERTH_CHAOS === 'long' ? 100_000 : 5_000;
/** Objects for each schema: ajv takes much longer to compile a schema than to judge an object. */
const OBJECTS = 25;
const TIMEOUT_MS = 3_600_000;
const SEED = Number(process.env.BERTH_SEED ?? 20_240_611);

/** mulberry32: the same numbers for the same seed. */
function randomSource(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

class Generator {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = randomSource(seed);
  }

  chance(share: number): boolean {
    return this.#random() < share;
  }

  number(below: number): number {
    return Math.floor(this.#random() * below);
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.number(items.length)]!;
  }

  schema(depth: number): JsonObject {
    const types =
      depth > 0
        ? ['object', 'object', 'array', 'map', 'string', 'integer', 'number', 'boolean']
        : ['string', 'integer', 'number', 'boolean'];
    const type = this.pick(types);
    const schema: JsonObject = type === 'map' ? { type: 'object', additionalProperties: this.schema(depth - 1) } : { type };
    if (this.chance(0.15)) schema.nullable = true;
    if (type === 'object') this.#properties(schema, depth);
    if (type === 'array') schema.items = this.schema(depth - 1);
    Object.assign(schema, this.#rules(schema));
    for (const name of ['allOf', 'anyOf', 'oneOf'])
      if (this.chance(0.08)) schema[name] = Array.from({ length: 1 + this.number(3) }, () => this.#nested(schema));
    if (this.chance(0.06)) schema.not = this.#nested(schema);
    return schema;
  }

  #properties(schema: JsonObject, depth: number): void {
    const names = ['a', 'b', 'c', 'with-dash', 'toString', 'constructor'].filter(() => this.chance(0.5));
    const properties = Object.fromEntries(names.map((name) => [name, this.schema(depth - 1)]));
    schema.properties = properties;
    if (this.chance(0.4)) schema.required = names.filter(() => this.chance(0.4));
    if (this.chance(0.1)) schema['x-kubernetes-preserve-unknown-fields'] = true;
  }

  /** Keywords about values that go with the type. */
  #rules(schema: JsonObject): JsonObject {
    const rules: JsonObject = {};
    const maybe = (name: string, value: () => Json) => {
      if (this.chance(0.2)) rules[name] = value();
    };
    switch (schema.type) {
      case 'string':
        maybe('minLength', () => this.number(4));
        maybe('maxLength', () => this.number(6));
        maybe('pattern', () => this.pick(['^a', 'b$', '^[a-c]*$', 'x+', '^(ab?)+$', '.']));
        maybe('enum', () => ['a', 'ab', 'abc', '😀']);
        break;
      case 'integer':
      case 'number':
        maybe('minimum', () => this.number(6) - 3);
        maybe('maximum', () => this.number(6));
        maybe('multipleOf', () => 1 + this.number(3));
        maybe('enum', () => [1, 2, 3]);
        break;
      case 'array':
        maybe('minItems', () => this.number(3));
        maybe('maxItems', () => this.number(4));
        break;
      case 'object':
        maybe('minProperties', () => this.number(3));
        maybe('maxProperties', () => this.number(4));
        break;
    }
    return rules;
  }

  #nested(schema: JsonObject): JsonObject {
    const nested = this.#rules(schema);
    const { properties } = schema;
    if (typeof properties === 'object' && properties !== null && this.chance(0.5)) {
      const name = this.pick(Object.keys(properties));
      if (name !== undefined) {
        const inner = (properties as JsonObject)[name] as JsonObject;
        nested.properties = Object.fromEntries([[name, this.#rules(inner)]]);
        if (this.chance(0.5)) nested.required = [name];
      }
    }
    return nested;
  }

  /** A value that often fits, and sometimes is of another type. */
  value(schema: JsonObject | undefined, depth = 4): Json {
    if (schema === undefined || this.chance(0.06))
      return this.pick<Json>([null, true, 0, -1.5, 2, '', 'ab', [], {}, [1], { a: null }]);
    switch (schema.type) {
      case 'string':
        return this.pick(['', 'a', 'ab', 'abc', 'b', 'xx', '😀', '😀😀😀', 'aab', 'abababababab']);
      case 'integer':
      case 'number':
        return this.pick([0, 1, 2, 3, 4, 5, -1, -3, 1.5, 6, 100]);
      case 'boolean':
        return this.chance(0.5);
      case 'array':
        return Array.from({ length: this.number(4) }, () => this.value(schema.items as JsonObject, depth - 1));
      default:
        return this.#object(schema, depth);
    }
  }

  #object(schema: JsonObject, depth: number): JsonObject {
    const { properties, additionalProperties } = schema as { properties?: JsonObject; additionalProperties?: JsonObject };
    const names = [...Object.keys(properties ?? {}), ...(additionalProperties === undefined ? [] : ['k', 'l', 'm'])];
    if (this.chance(0.2)) names.push('unknown');
    const kept = names.filter(() => this.chance(0.7));
    const of = (name: string) =>
      properties === undefined
        ? additionalProperties
        : Object.hasOwn(properties, name)
          ? (properties[name] as JsonObject)
          : undefined;
    return Object.fromEntries(kept.map((name) => [name, this.value(of(name), depth - 1)]));
  }

  /** Puts defaults that fit into a schema: values of its parts that are valid. */
  addDefaults(schema: JsonObject): void {
    const { properties, items, additionalProperties } = schema as {
      properties?: JsonObject;
      items?: JsonObject;
      additionalProperties?: JsonObject;
    };
    for (const inner of Object.values(properties ?? {})) this.addDefaults(inner as JsonObject);
    if (items !== undefined) this.addDefaults(items);
    if (additionalProperties !== undefined) this.addDefaults(additionalProperties);
    if (!this.chance(0.3)) return;
    const wanted = this.value(schema);
    const holder = { type: 'object', properties: { value: { ...schema, default: wanted } } };
    if (compileSchema(holder, { path: '' }).schema !== undefined) schema.default = wanted;
  }
}

/** The same schema for ajv, which says nullable as a second type. */
function forAjv(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(forAjv);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { nullable, 'x-kubernetes-preserve-unknown-fields': _preserve, default: _default, ...rest } = schema;
  const entries = Object.entries(rest).map(([name, value]) => {
    const isMap = name === 'properties' && typeof value === 'object' && value !== null;
    return [name, isMap ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, forAjv(inner)])) : forAjv(value)];
  });
  const plain = Object.fromEntries(entries) as JsonObject;
  return nullable === true ? { anyOf: [{ type: 'null' }, plain] } : plain;
}

const ajv = new Ajv2020({ strict: false, allErrors: false, unicodeRegExp: true, addUsedSchema: false, ownProperties: true });

function compiledPair(
  generator: Generator,
): { schema: CompiledSchema; reference: ValidateFunction; spec: JsonObject } | undefined {
  const spec = generator.schema(3);
  const { schema, violations } = compileSchema({ type: 'object', properties: { spec } }, { path: '' });
  if (schema === undefined) throw new Error(`${JSON.stringify(spec)}: ${JSON.stringify(violations)}`);
  return { schema, spec, reference: ajv.compile(forAjv({ type: 'object', properties: { spec } }) as object) };
}

describe(`${ROUNDS} random objects, seed ${SEED}`, () => {
  test(
    'are valid exactly where ajv says so',
    () => {
      const generator = new Generator(SEED);
      let valid = 0;
      for (let round = 0; round < ROUNDS; round += OBJECTS) {
        const pair = compiledPair(generator)!;
        for (let at = 0; at < OBJECTS; at++) {
          const object = { spec: generator.value(pair.spec) };
          const violations = pair.schema.validate(object);
          const expected = pair.reference(object);
          if (expected !== (violations.length === 0))
            throw new Error(
              `${JSON.stringify(pair.spec)} of ${JSON.stringify(object)}: ${JSON.stringify(violations)}, ajv: ${expected}`,
            );
          if (expected) valid++;
        }
        ajv.removeSchema();
      }
      // Neither nearly all nor nearly none: the comparison says something.
      expect(valid / ROUNDS).toBeGreaterThan(0.1);
      expect(valid / ROUNDS).toBeLessThan(0.9);
    },
    TIMEOUT_MS,
  );

  test(
    'are pruned and completed by defaults once: a second time changes nothing, and an equal update is valid',
    () => {
      const generator = new Generator(SEED + 1);
      let changed = 0;
      for (let round = 0; round < ROUNDS; round += OBJECTS) {
        const spec = generator.schema(3);
        generator.addDefaults(spec);
        const { schema } = compileSchema({ type: 'object', properties: { spec } }, { path: '' });
        for (let at = 0; at < OBJECTS; at++) {
          const object: JsonObject = { spec: generator.value(spec) };
          const given = JSON.stringify(object);
          schema!.prune(object);
          schema!.applyDefaults(object);
          const once = JSON.stringify(object);
          if (once !== given) changed++;
          expect(schema!.prune(object)).toEqual([]);
          schema!.applyDefaults(object);
          expect(JSON.stringify(object)).toBe(once);
          expect(schema!.validate(object, structuredClone(object))).toEqual([]);
        }
      }
      expect(changed / ROUNDS).toBeGreaterThan(0.1);
    },
    TIMEOUT_MS,
  );
});
