import protobuf from 'protobufjs';
import { expect, it } from 'vitest';
import type { Schema } from './definitions.ts';
import { encodeDocumentV3, namedPathV3, namedSchemaV3 } from './gnostic-v3.ts';
import { writePath } from './write-operations.ts';

/** The parts of gnostic's messages that a reader needs, written down apart from the encoder. */
const reader = protobuf.parse(`syntax = "proto3"; package t;
  message Any { string yaml = 2; }
  message NamedAny { string name = 1; Any value = 2; }
  message Reference { string ref = 1; string description = 3; }
  message SchemaOrReference { Schema schema = 1; Reference reference = 2; }
  message NamedSchema { string name = 1; SchemaOrReference value = 2; }
  message Schemas { repeated NamedSchema list = 1; }
  message Items { repeated SchemaOrReference list = 1; }
  message Additional { SchemaOrReference schema = 1; optional bool boolean = 2; }
  message Default { optional double number = 1; optional bool boolean = 2; optional string string = 3; }
  message Schema { optional bool nullable = 1; optional string title = 9; optional double multipleOf = 10;
    optional double maximum = 11; optional bool exclusiveMaximum = 12; optional double minimum = 13;
    optional int64 maxLength = 15; optional int64 minLength = 16; optional string pattern = 17;
    optional int64 maxItems = 18; optional int64 minItems = 19; optional bool uniqueItems = 20;
    optional int64 maxProperties = 21; optional int64 minProperties = 22; repeated string required = 23;
    repeated Any enum = 24; optional string type = 25; repeated SchemaOrReference allOf = 26;
    repeated SchemaOrReference oneOf = 27; repeated SchemaOrReference anyOf = 28; Schema not = 29; Items items = 30;
    Schemas properties = 31; Additional additionalProperties = 32; Default default = 33;
    optional string description = 34; optional string format = 35; repeated NamedAny ext = 36; }
  message Media { SchemaOrReference schema = 1; }
  message NamedMedia { string name = 1; Media value = 2; }
  message Content { repeated NamedMedia list = 1; }
  message Body { Content content = 2; }
  message BodyOrReference { Body body = 1; }
  message Response { string description = 1; Content content = 3; }
  message ResponseOrReference { Response response = 1; }
  message NamedResponse { string name = 1; ResponseOrReference value = 2; }
  message Responses { repeated NamedResponse list = 2; }
  message Parameter { string name = 1; string in = 2; string description = 3; bool required = 4; SchemaOrReference schema = 10; }
  message ParameterOrReference { Parameter parameter = 1; }
  message Operation { string operationId = 5; repeated ParameterOrReference parameters = 6; BodyOrReference requestBody = 7;
    Responses responses = 8; repeated NamedAny ext = 13; }
  message PathItem { Operation get = 4; Operation patch = 10; }
  message NamedPath { string name = 1; PathItem value = 2; }
  message Paths { repeated NamedPath list = 1; }
  message Info { string title = 1; string version = 6; }
  message Components { Schemas schemas = 1; }
  message Document { string openapi = 1; Info info = 2; Paths paths = 4; Components components = 5; }`).root;

// biome-ignore lint/suspicious/noExplicitAny: what a decoder of another kind gives
type Read = any;

function decode(bytes: Uint8Array): Read {
  const type = reader.lookupType('t.Document');
  return type.toObject(type.decode(bytes), { longs: Number });
}

const yamlOf = ({ yaml }: { yaml: string }): unknown => JSON.parse(yaml);
const mapOf = (list: { name: string; value: Read }[], read: (value: Read) => unknown): Schema =>
  Object.fromEntries(list.map(({ name, value }) => [name, read(value)]));

/** A schema that was decoded, in its JSON form again. */
function jsonOf(of: Read): Schema {
  if (of.reference) {
    const { ref, description } = of.reference;
    return { $ref: ref, ...(description && { description }) };
  }
  const { ext = [], properties, items, additionalProperties, allOf, oneOf, anyOf, not, ...plain } = of.schema;
  const lists = Object.entries({ allOf, oneOf, anyOf }).filter(([, list]) => list !== undefined);
  return {
    ...plain,
    ...(plain.enum && { enum: plain.enum.map(yamlOf) }),
    ...(plain.default && { default: Object.values(plain.default)[0] }),
    ...Object.fromEntries(lists.map(([name, list]) => [name, (list as Read[]).map(jsonOf)])),
    ...(not && { not: jsonOf({ schema: not }) }),
    ...(properties && { properties: mapOf(properties.list ?? [], jsonOf) }),
    ...(items && { items: jsonOf(items.list[0]) }),
    ...(additionalProperties && {
      additionalProperties: additionalProperties.schema ? jsonOf(additionalProperties.schema) : additionalProperties.boolean,
    }),
    ...mapOf(ext, yamlOf),
  };
}

const schema: Schema = {
  ...{ type: 'object', description: 'd', required: ['a', 'b'], title: 't', nullable: true },
  properties: {
    a: { type: 'integer', format: 'int32', minimum: 0, maximum: 1.5, default: 0, exclusiveMaximum: true, multipleOf: 0.5 },
    b: { type: 'string', minLength: 0, maxLength: 300, pattern: '^x$', enum: ['x', '', null], default: '' },
    c: { type: 'array', minItems: 1, maxItems: 2, uniqueItems: true, items: { $ref: '#/components/schemas/C' } },
    d: { allOf: [{ $ref: '#/components/schemas/C', description: 'other' }], default: false },
    e: { type: 'object', additionalProperties: { type: 'boolean' }, minProperties: 1, maxProperties: 9 },
    f: { type: 'object', additionalProperties: true, 'x-kubernetes-map-type': 'atomic' },
    g: { anyOf: [{ type: 'integer' }, { type: 'string' }], oneOf: [{}], not: { required: ['z'] } },
  },
  'x-kubernetes-group-version-kind': [{ group: '', version: 'v1', kind: 'C' }],
};

it('a schema says in protobuf what it says in JSON', () => {
  const read = decode(encodeDocumentV3({ title: 't', version: 'v' }, [], [namedSchemaV3('C', schema), namedSchemaV3('D', {})]));
  expect([read.openapi, read.info]).toEqual(['3.0.0', { title: 't', version: 'v' }]);
  expect(mapOf(read.components.schemas.list, jsonOf)).toEqual({ C: schema, D: {} });
});

it('an operation says in protobuf what it says in JSON', () => {
  const gvk = { group: '', version: 'v1', kind: 'Pod' };
  const parameters = [
    { name: 'dryRun', in: 'query', type: 'string', description: 'd' } as const,
    { name: 'name', in: 'path', type: 'string', description: 'n' } as const,
  ];
  const patch = { method: 'patch', action: 'patch', id: 'p', parameters, body: 'B', answer: 'A', gvk } as const;
  const json = writePath([patch], 3);
  const read = decode(encodeDocumentV3({ title: 't', version: 'v' }, [namedPathV3('/p', json)], []));
  const [{ name, value }] = read.paths.list;
  const { ext, responses, requestBody, ...own } = value.patch;
  const contentOf = (content: Read): Schema => mapOf(content.list, (media) => ({ schema: jsonOf(media.schema) }));
  expect(name).toBe('/p');
  expect({
    ...own,
    parameters: own.parameters.map(({ parameter }: Read) => ({ ...parameter, schema: jsonOf(parameter.schema) })),
    requestBody: { content: contentOf(requestBody.body.content) },
    responses: mapOf(responses.list, ({ response: { description, content } }) => ({ description, content: contentOf(content) })),
    ...mapOf(ext, yamlOf),
  }).toEqual(json.patch);
});
