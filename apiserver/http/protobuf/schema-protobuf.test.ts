import fc from 'fast-check';
import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { WireReader } from '../../../api/codec/wire-reader.ts';
import type { Json, JsonObject } from '../../../api/meta/merge-patch.ts';
import { bytesField, decodeSchema, encodeSchema } from './schema-protobuf.ts';

/** The message as another program reads it, with Kubernetes' names and numbers. */
const schemas = protobuf.parse(`syntax = "proto2";
  message JSON { optional bytes raw = 1; }
  message OrArray { optional Props schema = 1; repeated Props jSONSchemas = 2; }
  message OrBool { optional bool allows = 1; optional Props schema = 2; }
  message OrTexts { optional Props schema = 1; repeated string property = 2; }
  message Docs { optional string description = 1; optional string url = 2; }
  message Rule { optional string rule = 1; optional string message = 2; optional string messageExpression = 3;
    optional string reason = 4; optional string fieldPath = 5; optional bool optionalOldSelf = 6; }
  message Props {
    optional string id = 1; optional string schema = 2; optional string ref = 3; optional string description = 4;
    optional string type = 5; optional string format = 6; optional string title = 7; optional JSON default = 8;
    optional double maximum = 9; optional bool exclusiveMaximum = 10; optional double minimum = 11;
    optional bool exclusiveMinimum = 12; optional int64 maxLength = 13; optional int64 minLength = 14;
    optional string pattern = 15; optional int64 maxItems = 16; optional int64 minItems = 17;
    optional bool uniqueItems = 18; optional double multipleOf = 19; repeated JSON enum = 20;
    optional int64 maxProperties = 21; optional int64 minProperties = 22; repeated string required = 23;
    optional OrArray items = 24; repeated Props allOf = 25; repeated Props oneOf = 26; repeated Props anyOf = 27;
    optional Props not = 28; map<string, Props> properties = 29; optional OrBool additionalProperties = 30;
    map<string, Props> patternProperties = 31; map<string, OrTexts> dependencies = 32;
    optional OrBool additionalItems = 33; map<string, Props> definitions = 34; optional Docs externalDocs = 35;
    optional JSON example = 36; optional bool nullable = 37; optional bool xKubernetesPreserveUnknownFields = 38;
    optional bool xKubernetesEmbeddedResource = 39; optional bool xKubernetesIntOrString = 40;
    repeated string xKubernetesListMapKeys = 41; optional string xKubernetesListType = 42;
    optional string xKubernetesMapType = 43; repeated Rule xKubernetesValidations = 44;
  }`).root;
const Props = schemas.lookupType('Props');
const decode = (bytes: Uint8Array): JsonObject => decodeSchema(new WireReader(bytes));

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 });
const name = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 4 });
const value = fc.oneof(fc.integer(), text, fc.constant(null), fc.constant({ a: [1, 'b'] })) as fc.Arbitrary<Json>;
const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((each) => (Object.is(each, -0) ? 0 : each));
const texts = fc.array(text, { minLength: 1, maxLength: 3 });
const rule = fc.record(
  { rule: text, message: text, reason: text, fieldPath: text, optionalOldSelf: fc.boolean() },
  { requiredKeys: ['rule'] },
);
const schema = fc.letrec<{ schema: Json }>((tie) => {
  const below = tie('schema');
  const map = fc.dictionary(name, below, { minKeys: 1, maxKeys: 2, noNullPrototype: true });
  const leaf = {
    ...{ id: text, $schema: text, $ref: text, description: text, type: text, format: text, title: text, pattern: text },
    ...{ default: value, example: value, enum: fc.array(value, { minLength: 1, maxLength: 3 }) },
    ...{
      maximum: number,
      minimum: number,
      multipleOf: number,
      exclusiveMaximum: fc.constant(true),
      uniqueItems: fc.constant(true),
    },
    ...{ maxLength: fc.maxSafeInteger(), minItems: fc.nat(9), nullable: fc.constant(true), required: texts },
    'x-kubernetes-preserve-unknown-fields': fc.boolean(),
    'x-kubernetes-int-or-string': fc.constant(true),
    'x-kubernetes-list-map-keys': texts,
    'x-kubernetes-list-type': text,
    'x-kubernetes-validations': fc.array(rule, { minLength: 1, maxLength: 2 }),
    externalDocs: fc.record({ description: text, url: text }, { noNullPrototype: true }),
  };
  const inner = {
    ...leaf,
    ...{
      properties: map,
      patternProperties: map,
      definitions: map,
      not: below,
      anyOf: fc.array(below, { minLength: 1, maxLength: 2 }),
    },
    items: fc.oneof(below, fc.array(below, { minLength: 1, maxLength: 2 })),
    additionalProperties: fc.oneof(below, fc.boolean()),
    dependencies: fc.dictionary(name, fc.oneof(below, texts), { minKeys: 1, maxKeys: 2, noNullPrototype: true }),
  };
  const some = (members: Record<string, fc.Arbitrary<unknown>>) =>
    fc.record(members, { requiredKeys: [], noNullPrototype: true }) as fc.Arbitrary<Json>;
  return { schema: fc.oneof({ depthSize: 'small', maxDepth: 3 }, some(leaf), some(inner)) };
}).schema as fc.Arbitrary<JsonObject>;

describe('the schema of a custom kind as protobuf', () => {
  it('is the same when it is read again, also by way of another program', () => {
    const property = fc.property(schema, (json) => {
      const bytes = encodeSchema(json);
      expect(decode(bytes)).toEqual(json);
      const again = Props.encode(Props.decode(bytes)).finish();
      expect(decode(again)).toEqual(json);
    });
    fc.assert(property, { numRuns: 60, seed: 12 });
  });

  it('has what another program writes, without the zeros of its types', () => {
    const message = {
      ...{ type: 'object', description: '', title: '', exclusiveMaximum: false, nullable: false, uniqueItems: false },
      ...{ maxLength: 0, minimum: 0, default: { raw: Buffer.from('{"a":1}') }, xKubernetesPreserveUnknownFields: false },
      properties: { a: { type: 'string', ref: '' }, b: { additionalProperties: { allows: true, schema: { type: 'integer' } } } },
      ...{ items: { schema: { type: 'string' } }, additionalProperties: { allows: false } },
      xKubernetesValidations: [{ rule: 'self.a', message: '', messageExpression: '', fieldPath: '' }],
    };
    expect(decode(Props.encode(Props.fromObject(message)).finish())).toEqual({
      ...{ type: 'object', maxLength: 0, minimum: 0, default: { a: 1 }, 'x-kubernetes-preserve-unknown-fields': false },
      properties: { a: { type: 'string', $ref: '' }, b: { additionalProperties: { type: 'integer' } } },
      ...{ items: { type: 'string' }, additionalProperties: false },
      'x-kubernetes-validations': [{ rule: 'self.a' }],
    });
  });

  it.each<[string, Buffer, string]>([
    ['with a field that is not known', bytesField(99, Buffer.from('a')), 'the field 99, which is not known'],
    ['with a field of another form', bytesField(10, Buffer.from('a')), 'whose exclusiveMaximum cannot be read'],
    ['with a value that is no JSON', bytesField(8, bytesField(1, Buffer.from('{'))), 'a value that is no JSON'],
    [
      'that is too deep',
      Array.from({ length: 200 }).reduce<Buffer>((inner) => bytesField(28, inner), Buffer.alloc(0)),
      'deeper than 128 levels',
    ],
  ])('%s is refused', (_, bytes, message) => {
    expect(() => decode(bytes)).toThrow(message);
  });

  it('that is cut off anywhere is read or refused, and nothing else', () => {
    const whole = encodeSchema({
      type: 'object',
      maximum: 3,
      properties: { a: { enum: ['x'], maxLength: 300 } },
      items: { type: 'string' },
    });
    for (let length = 0; length < whole.length; length++) {
      try {
        decode(whole.subarray(0, length));
      } catch (error) {
        expect((error as Error).constructor.name).toMatch(/^(WireError|ApiError)$/);
      }
    }
  });
});
