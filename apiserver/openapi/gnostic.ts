import type { Schema } from './definitions.ts';
import { any, extensions, field, flag, isSchema, NOTHING, pair, text, texts } from './gnostic-fields.ts';
import type { Operation, Parameter } from './operations.ts';
import { inV2 } from './write-operations.ts';

// The protobuf form of OpenAPI v2: gnostic's messages by their field numbers, as far as a document of ours has them.

/** The message Schema. */
export function encodeSchema(schema: Schema): Buffer {
  const { properties, items, additionalProperties, required, type } = schema;
  const values = Array.isArray(schema.enum) ? schema.enum : [];
  return Buffer.concat([
    text(1, schema.$ref),
    text(2, schema.format),
    text(3, schema.title),
    text(4, schema.description),
    text(13, schema.pattern),
    texts(19, required),
    ...values.map((value) => field(20, any(value))),
    isSchema(additionalProperties) ? field(21, field(1, encodeSchema(additionalProperties))) : NOTHING,
    additionalProperties === true ? field(21, flag(2, true)) : NOTHING,
    typeof type === 'string' ? field(22, text(1, type)) : NOTHING,
    isSchema(items) ? field(23, field(1, encodeSchema(items))) : NOTHING,
    isSchema(properties) ? field(25, namedSchemas(properties)) : NOTHING,
    extensions(31, schema),
  ]);
}

const namedSchemas = (schemas: Schema): Buffer =>
  Buffer.concat(Object.entries(schemas).map(([name, value]) => namedSchema(name, value as Schema)));

/** One of the properties of a schema, or of the definitions of a document. */
export const namedSchema = (name: string, schema: Schema): Buffer => field(1, pair(name, encodeSchema(schema)));

/** One of the paths of a document. */
export function namedPath(path: string, operations: readonly Operation[]): Buffer {
  const numbers = { get: 2, put: 3, post: 4, delete: 5, patch: 8 } as const;
  return field(2, pair(path, Buffer.concat(operations.map((each) => field(numbers[each.method], encodeOperation(each))))));
}

function encodeOperation(operation: Operation): Buffer {
  const { operationId, produces, consumes, parameters, responses, schemes, ...rest } = inV2(operation);
  const body = operation.body === undefined ? 0 : 1;
  return Buffer.concat([
    text(5, operationId),
    texts(6, produces),
    texts(7, consumes),
    ...(parameters as Schema[]).slice(0, body).map((each) => field(8, field(1, encodeParameter(each)))),
    ...operation.parameters.map(sharedParameter),
    field(9, Buffer.concat(Object.entries(responses as Schema).map(([code, each]) => encodeResponse(code, each as Schema)))),
    texts(10, schemes),
    extensions(13, rest),
  ]);
}

const encoded = new WeakMap<Parameter, Buffer>();

/** The same parameters stand in hundreds of operations. */
function sharedParameter(parameter: Parameter): Buffer {
  let bytes = encoded.get(parameter);
  if (!bytes) {
    bytes = field(8, field(1, encodeParameter({ ...parameter, required: parameter.in === 'path' })));
    encoded.set(parameter, bytes);
  }
  return bytes;
}

function encodeParameter(parameter: Schema): Buffer {
  const { name, in: place, type, description, required, schema } = parameter;
  if (place === 'body')
    return field(1, Buffer.concat([text(2, name), text(3, place), flag(4, required), field(5, encodeSchema(schema as Schema))]));
  const [number, typeNumber] = place === 'query' ? [3, 6] : [4, 5];
  const own = [flag(1, required), text(2, place), text(3, description), text(4, name), text(typeNumber, type)];
  return field(2, field(number, Buffer.concat(own)));
}

function encodeResponse(code: string, { description, schema }: Schema): Buffer {
  const response = Buffer.concat([text(1, description), field(2, field(1, encodeSchema(schema as Schema)))]);
  return field(1, pair(code, field(1, response)));
}

/** The message Document, of paths and definitions that are encoded already. */
export function encodeDocument(
  { title, version }: { readonly title: string; readonly version: string },
  paths: readonly Buffer[],
  definitions: readonly Buffer[],
): Buffer {
  const info = Buffer.concat([text(1, title), text(2, version)]);
  return Buffer.concat([text(1, '2.0'), field(2, info), field(8, Buffer.concat(paths)), field(9, Buffer.concat(definitions))]);
}
