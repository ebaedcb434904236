import { isJsonObject, type Json, type JsonObject } from '../../api/meta/merge-patch.ts';
import { readExtensions } from './read-extensions.ts';
import { readValueRules } from './read-rules.ts';
import { admitNode, type Reading, readFlag, readText, readType } from './reading.ts';
import type { SchemaNode } from './schema-node.ts';
import { forbiddenAt, invalidAt } from './schema-violations.ts';

/** What Kubernetes' JSONSchemaProps has and its API refuses, with what to do instead. */
const REFUSED: Readonly<Record<string, string>> = {
  $ref: '$ref is not supported: write the schema out in place',
  definitions: 'definitions is not supported: write each schema out in place',
  dependencies: 'dependencies is not supported: use a rule of x-kubernetes-validations',
  patternProperties: 'patternProperties is not supported: use additionalProperties',
  additionalItems: 'additionalItems is not supported: items is the schema of every item',
  id: 'id is not supported',
  deprecated: 'deprecated is not supported: say so in the description',
  discriminator: 'discriminator is not supported',
  readOnly: 'readOnly is not supported: use a rule of x-kubernetes-validations with oldSelf',
  writeOnly: 'writeOnly is not supported',
  xml: 'xml is not supported',
};

const STRUCTURE = new Set(['type', 'title', 'description', 'nullable', 'default', 'properties', 'additionalProperties', 'items']);
/** Read by people only. */
const IGNORED = new Set(['$schema', 'example', 'externalDocs']);

/** Reads a schema; what it says of a level that is wrong is left out, and a violation says what is wrong. */
export function readNode(json: Json | undefined, path: string, reading: Reading, level = 1): SchemaNode {
  const empty: SchemaNode = { nullable: false, intOrString: false, preserveUnknownFields: false, embeddedResource: false };
  if (!isJsonObject(json)) {
    reading.violations.push(invalidAt(path, json ?? null, 'must be a schema: an object with a type'));
    return empty;
  }
  if (!admitNode(path, reading, level)) return empty;
  refuseUnknown(json, path, reading);
  return {
    ...readText(json, 'title', path, reading),
    ...readText(json, 'description', path, reading),
    ...readType(json, path, reading),
    ...(json.default !== undefined && { default: json.default }),
    nullable: readFlag(json, 'nullable', path, reading),
    ...readProperties(json, path, reading, level),
    ...readAdditional(json, path, reading, level),
    ...readItems(json, path, reading, level),
    ...readValueRules(json, path, reading, level),
    ...readExtensions(json, path, reading),
  };
}

function refuseUnknown(json: JsonObject, path: string, reading: Reading): void {
  for (const name of Object.keys(json)) {
    const refused = Object.hasOwn(REFUSED, name) ? REFUSED[name] : undefined;
    if (refused !== undefined) reading.violations.push(forbiddenAt(`${path}.${name}`, refused));
    else if (!STRUCTURE.has(name) && !IGNORED.has(name) && !isRuleOrExtension(name))
      reading.violations.push(forbiddenAt(`${path}.${name}`, 'unknown keyword of a schema: remove it'));
  }
}

const RULES = new Set(
  (
    'enum minimum exclusiveMinimum maximum exclusiveMaximum multipleOf minLength maxLength pattern format minItems maxItems ' +
    'uniqueItems minProperties maxProperties required allOf anyOf oneOf not'
  ).split(' '),
);

function isRuleOrExtension(name: string): boolean {
  return RULES.has(name) || name.startsWith('x-kubernetes-');
}

function readProperties(json: JsonObject, path: string, reading: Reading, level: number): Pick<SchemaNode, 'properties'> {
  const { properties } = json;
  if (properties === undefined) return {};
  if (!isJsonObject(properties)) {
    reading.violations.push(invalidAt(`${path}.properties`, properties, 'must be an object: a schema for each name'));
    return {};
  }
  const entries = Object.entries(properties);
  return {
    properties: new Map(
      entries.map(([name, inner]) => [name, readNode(inner, `${path}.properties[${name}]`, reading, level + 1)]),
    ),
  };
}

function readAdditional(
  json: JsonObject,
  path: string,
  reading: Reading,
  level: number,
): Pick<SchemaNode, 'additionalProperties'> {
  const { additionalProperties: values } = json;
  if (values === undefined) return {};
  const at = `${path}.additionalProperties`;
  if (json.properties !== undefined && isJsonObject(json.properties) && Object.keys(json.properties).length > 0)
    reading.violations.push(forbiddenAt(at, 'additionalProperties and properties are mutual exclusive: remove one of them'));
  if (values === false) {
    reading.violations.push(forbiddenAt(at, 'additionalProperties cannot be set to false: unknown fields are pruned'));
    return {};
  }
  return { additionalProperties: values === true ? true : readNode(values, at, reading, level + 1) };
}

function readItems(json: JsonObject, path: string, reading: Reading, level: number): Pick<SchemaNode, 'items'> {
  const { items } = json;
  if (items === undefined) return {};
  if (Array.isArray(items)) {
    reading.violations.push(forbiddenAt(`${path}.items`, 'items must be a schema object and not an array'));
    return {};
  }
  return { items: readNode(items, `${path}.items`, reading, level + 1) };
}
