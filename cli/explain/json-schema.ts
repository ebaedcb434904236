import { messageType } from '../../api/codec/descriptors.ts';
import { fieldTypeName, jsonFields, messageBelow } from '../../api/codec/json-fields.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { isJsonObject, type Json, type JsonObject } from '../../api/meta/merge-patch.ts';
import { membersOf } from './schema.ts';

/** The structure of a definition's schema, which is written anew; all else is a rule or a text. */
const structure: ReadonlySet<string> = new Set([
  ...['type', 'nullable', 'properties', 'required', 'additionalProperties', 'items', 'allOf', 'anyOf', 'oneOf', 'not'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  ...['example', 'externalDocs', '$schema', 'x-kubernetes-validations'],
]);

/**
 * A version of a custom kind as JSON Schema (2020-12), for editors and validators outside the server: it accepts what
 * the server accepts with `fieldValidation=Strict`, CEL rules apart. Pure.
 */
export function kindJsonSchema({ apiVersion, kind }: Kind, schema: JsonObject): JsonObject {
  const whole = levelSchema(schema, true);
  const { apiVersion: _version, kind: _kind, metadata: own, ...others } = membersOf(whole);
  const ofEvery = messageSchema('berth.meta.v1.ObjectMeta');
  const rules = isJsonObject(own) ? membersOf(own) : {};
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: kind,
    ...whole,
    type: 'object',
    properties: {
      apiVersion: { type: 'string', const: apiVersion },
      kind: { type: 'string', const: kind },
      // Of metadata a definition has rules for the name alone.
      metadata: { ...ofEvery, properties: { ...membersOf(ofEvery), ...rules } },
      ...others,
    },
    required: [...new Set(['apiVersion', 'kind', ...namesIn(whole.required)])],
  };
}

/**
 * One level of a definition's schema, and those below it; below allOf, anyOf, oneOf and not stand rules alone, which
 * are not structural. Pure.
 */
export function levelSchema(schema: JsonObject, isStructural: boolean): JsonObject {
  const { type, items, additionalProperties } = schema;
  const single = schema['x-kubernetes-int-or-string'] === true ? ['integer', 'string'] : type;
  const made: JsonObject = {
    ...(single !== undefined && { type: single }),
    ...Object.fromEntries(Object.entries(schema).filter(([name]) => !structure.has(name))),
    ...bounds(schema),
    ...memberSchemas(schema, isStructural),
    ...(isJsonObject(items) && { items: levelSchema(items, isStructural) }),
    ...(isJsonObject(additionalProperties) && { additionalProperties: levelSchema(additionalProperties, isStructural) }),
    ...(isJsonObject(schema.not) && { not: levelSchema(schema.not, false) }),
  };
  for (const name of ['allOf', 'anyOf', 'oneOf'] as const) {
    const each = schema[name];
    if (Array.isArray(each)) made[name] = each.map((inner) => (isJsonObject(inner) ? levelSchema(inner, false) : inner));
  }
  // A null that is allowed breaks no rule of its level.
  return schema.nullable === true ? { anyOf: [{ type: 'null' }, made] } : made;
}

/** OpenAPI says by a flag that a bound is exclusive, JSON Schema by another keyword. */
function bounds(schema: JsonObject): JsonObject {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  return {
    ...(minimum !== undefined && { [exclusiveMinimum === true ? 'exclusiveMinimum' : 'minimum']: minimum }),
    ...(maximum !== undefined && { [exclusiveMaximum === true ? 'exclusiveMaximum' : 'maximum']: maximum }),
  };
}

/** Fields that a structural schema does not name are unknown to the server, unless it keeps them. */
function memberSchemas(schema: JsonObject, isStructural: boolean): JsonObject {
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true;
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true || schema.additionalProperties !== undefined;
  const isObject = schema.type === 'object' || schema.properties !== undefined;
  const own = Object.fromEntries(
    Object.entries(membersOf(schema)).map(([name, inner]) => [
      name,
      isJsonObject(inner) ? levelSchema(inner, isStructural) : inner,
    ]),
  );
  const embedded: JsonObject = isEmbedded
    ? { apiVersion: { type: 'string', minLength: 1 }, kind: { type: 'string', minLength: 1 }, metadata: { type: 'object' } }
    : {};
  const properties = { ...own, ...embedded };
  const required = [...new Set([...(isEmbedded ? ['apiVersion', 'kind'] : []), ...namesIn(schema.required)])];
  return {
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required }),
    ...(isStructural && isObject && !isOpen && { additionalProperties: false }),
  };
}

const namesIn = (value: Json | undefined): string[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];

function messageSchema(message: string): JsonObject {
  const fields = jsonFields(messageType(message));
  const properties = Object.fromEntries(fields.map((field) => [field.name, fieldSchema(field)]));
  return { type: 'object', properties, additionalProperties: false };
}

const singles: Readonly<Record<string, JsonObject>> = {
  string: { type: 'string' },
  boolean: { type: 'boolean' },
  integer: { type: 'integer' },
  Time: { type: ['string', 'null'], format: 'date-time' },
  FieldsV1: { type: 'object' },
};

function fieldSchema(field: Parameters<typeof fieldTypeName>[0]): JsonObject {
  const message = messageBelow(field);
  const name = fieldTypeName(field).replace(/^(\[\]|map\[string\])/, '');
  const single = message ? messageSchema(message.fullName.slice(1)) : (singles[name] ?? {});
  if (field.map) return { type: 'object', additionalProperties: single };
  return field.repeated ? { type: 'array', items: single } : single;
}
