import type { Schema } from './definitions.ts';
import { any, extensions, field, flag, isSchema, NOTHING, pair, text, texts, varint } from './gnostic-fields.ts';

// The protobuf form of OpenAPI v3: gnostic's messages by their field numbers, as far as a document of ours has them.

const integer = (number: number, value: unknown): Buffer =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
    ? Buffer.concat([varint(number * 8), varint(value)])
    : NOTHING;

function double(number: number, value: unknown): Buffer {
  if (typeof value !== 'number') return NOTHING;
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([varint(number * 8 + 1), bytes]);
}

const schemas = (number: number, values: unknown): Buffer =>
  Buffer.concat((Array.isArray(values) ? values : []).map((each: Schema) => field(number, encodeSchemaV3(each))));

const named = (members: Schema, encode: (value: Schema) => Buffer, number = 1): Buffer =>
  Buffer.concat(Object.entries(members).map(([name, value]) => field(number, pair(name, encode(value as Schema)))));

/** The message SchemaOrReference. */
export function encodeSchemaV3(schema: Schema): Buffer {
  if (schema.$ref === undefined) return field(1, encodeOwn(schema));
  return field(2, Buffer.concat([text(1, schema.$ref), text(3, schema.description)]));
}

/** The message Schema. */
function encodeOwn(schema: Schema): Buffer {
  const { properties, items, additionalProperties, not, default: usual } = schema;
  const values = Array.isArray(schema.enum) ? schema.enum : [];
  return Buffer.concat([
    ...[flag(1, schema.nullable), text(9, schema.title), double(10, schema.multipleOf)],
    ...[double(11, schema.maximum), flag(12, schema.exclusiveMaximum)],
    ...[double(13, schema.minimum), flag(14, schema.exclusiveMinimum)],
    ...[integer(15, schema.maxLength), integer(16, schema.minLength), text(17, schema.pattern)],
    ...[integer(18, schema.maxItems), integer(19, schema.minItems), flag(20, schema.uniqueItems)],
    ...[integer(21, schema.maxProperties), integer(22, schema.minProperties), texts(23, schema.required)],
    ...values.map((value) => field(24, any(value))),
    ...[text(25, schema.type), schemas(26, schema.allOf), schemas(27, schema.oneOf), schemas(28, schema.anyOf)],
    isSchema(not) ? field(29, encodeOwn(not)) : NOTHING,
    isSchema(items) ? field(30, field(1, encodeSchemaV3(items))) : NOTHING,
    isSchema(properties) ? field(31, named(properties, encodeSchemaV3)) : NOTHING,
    isSchema(additionalProperties) ? field(32, field(1, encodeSchemaV3(additionalProperties))) : NOTHING,
    additionalProperties === true ? field(32, flag(2, true)) : NOTHING,
    usual === undefined ? NOTHING : field(33, encodeDefault(usual)),
    ...[text(34, schema.description), text(35, schema.format), extensions(36, schema)],
  ]);
}

/** Lists and objects are left out: the message DefaultType has no place for them. */
function encodeDefault(value: unknown): Buffer {
  if (typeof value === 'number') return double(1, value);
  if (typeof value === 'boolean') return Buffer.from([2 * 8, value ? 1 : 0]);
  return text(3, value);
}

const methods = { get: 4, put: 5, post: 6, delete: 7, options: 8, head: 9, patch: 10, trace: 11 } as const;

/** One of the paths of a document: `path` is what its JSON form says. */
export function namedPathV3(name: string, path: Schema): Buffer {
  const operations = Object.entries(methods).map(([method, number]) => {
    const operation = path[method];
    return isSchema(operation) ? field(number, encodeOperation(operation)) : NOTHING;
  });
  return field(1, pair(name, Buffer.concat(operations)));
}

function encodeOperation(operation: Schema): Buffer {
  const { description, operationId, parameters, requestBody, responses } = operation;
  return Buffer.concat([
    ...[text(3, description), text(5, operationId)],
    ...(parameters as Schema[]).map((each) => field(6, field(1, encodeParameter(each)))),
    isSchema(requestBody) ? field(7, field(1, field(2, encodeContent(requestBody.content as Schema)))) : NOTHING,
    field(8, named(responses as Schema, encodeResponse, 2)),
    extensions(13, operation),
  ]);
}

const encodeParameter = ({ name, in: place, description, required, schema }: Schema): Buffer =>
  Buffer.concat([
    ...[text(1, name), text(2, place), text(3, description), flag(4, required)],
    isSchema(schema) ? field(10, encodeSchemaV3(schema)) : NOTHING,
  ]);

const encodeContent = (content: Schema): Buffer =>
  named(content, ({ schema }) => (isSchema(schema) ? field(1, encodeSchemaV3(schema)) : NOTHING));

function encodeResponse({ description, content }: Schema): Buffer {
  return field(1, Buffer.concat([text(1, description), isSchema(content) ? field(3, encodeContent(content)) : NOTHING]));
}

/** One of the schemas of a document. */
export const namedSchemaV3 = (name: string, schema: Schema): Buffer => field(1, pair(name, encodeSchemaV3(schema)));

/** The message Document, of paths and schemas that are encoded already. */
export function encodeDocumentV3(
  { title, version }: { readonly title: string; readonly version: string },
  paths: readonly Buffer[],
  schemas: readonly Buffer[],
): Buffer {
  const info = Buffer.concat([text(1, title), text(6, version)]);
  const components = field(1, Buffer.concat(schemas));
  return Buffer.concat([text(1, '3.0.0'), field(2, info), field(4, Buffer.concat(paths)), field(5, components)]);
}
