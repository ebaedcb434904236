import type { Kind } from '../../api/kinds/kind.ts';
import { isJsonObject, type Json, type JsonObject } from '../../api/meta/merge-patch.ts';
import { noField } from './locate.ts';
import { type Comments, header, wrap } from './print.ts';

// Kinds that users added: what their definition says of them, as the built-in kinds are explained.

/** A field of a schema, or the kind itself (no steps). */
interface SchemaPlace {
  readonly schema: JsonObject;
  readonly isRequired: boolean;
}

/** The schema of a kind's version in its definition; undefined where it has none. */
export function schemaOf({ apiVersion }: Pick<Kind, 'apiVersion'>, { spec }: JsonObject): JsonObject | undefined {
  const { versions = [] } = (isJsonObject(spec) ? spec : {}) as { versions?: JsonObject[] };
  const version = versions.find(({ name }) => name === apiVersion.split('/').at(-1));
  const { openAPIV3Schema } = (version?.schema ?? {}) as JsonObject;
  return isJsonObject(openAPIV3Schema) ? openAPIV3Schema : undefined;
}

/** The schema with the members that every object has, whatever it says of them. */
export function withObjectMembers(schema: JsonObject, comments: Comments): JsonObject {
  const { metadata, ...others } = membersOf(schema);
  const text = comments['berth.apiextensions.v1.CustomObject']?.metadata ?? '';
  const known: JsonObject = {
    apiVersion: { type: 'string', description: 'The group and version of the kind.' },
    kind: { type: 'string', description: 'The name of the kind.' },
    metadata: { type: 'object', description: text, 'x-berth-type': 'ObjectMeta' },
  };
  return { ...schema, type: 'object', properties: { ...others, ...known } };
}

/** What the kind or a field of it is, and which fields stand below. Throws for a field that does not exist. Pure. */
export function explainSchema(kind: Kind, schema: JsonObject, names: readonly string[]): string {
  const place = find(kind, schema, names);
  const fields = fieldsOf(place.schema);
  const below = fields.flatMap(([name, each]) => [
    `  ${heading(name, each)}`,
    ...enumLine(each.schema),
    ...wrap(textOf(each.schema), '    '),
    '',
  ]);
  return [
    ...head(kind, names, place),
    '',
    'DESCRIPTION:',
    ...wrap(textOf(place.schema) || '<empty>', '    '),
    ...(fields.length > 0 ? ['', 'FIELDS:', ...below] : []),
    '',
  ].join('\n');
}

/** All fields below, however deep, with their types. Pure. */
export function explainSchemaTree(kind: Kind, schema: JsonObject, names: readonly string[]): string {
  const place = find(kind, schema, names);
  return [...head(kind, names, place), '', 'FIELDS:', ...treeLines(place.schema, '  '), ''].join('\n');
}

/** The names of the fields below a field of a kind, or below the kind itself; none for what does not exist. Pure. */
export function namesBelow(schema: JsonObject, names: readonly string[]): string[] {
  let at: JsonObject | undefined = withObjectMembers(schema, {});
  for (const name of names) at = at && new Map(fieldsOf(at)).get(name)?.schema;
  return at ? fieldsOf(at).map(([name]) => name) : [];
}

function head(kind: Kind, names: readonly string[], place: SchemaPlace): string[] {
  const name = names.at(-1);
  if (name === undefined) return [header(kind)];
  const values = enumOf(place.schema);
  return [
    header(kind),
    '',
    `FIELD: ${heading(name, place)}`,
    ...(values.length > 0 ? ['ENUM:', ...values.map((value) => `    ${value}`)] : []),
  ];
}

function find(kind: Kind, schema: JsonObject, names: readonly string[]): SchemaPlace {
  let at: SchemaPlace = { schema, isRequired: false };
  for (const [i, name] of names.entries()) {
    const fields = new Map(fieldsOf(at.schema));
    const next = fields.get(name);
    if (!next) throw noField([kind.singular, ...names.slice(0, i)].join('.'), name, [...fields.keys()]);
    at = next;
  }
  return at;
}

/** The fields below a level, by their names: those of an object, of a list's items, of a map's values. */
function fieldsOf(schema: JsonObject): [string, SchemaPlace][] {
  const { items, additionalProperties } = schema;
  const inner = isJsonObject(items) ? items : isJsonObject(additionalProperties) ? additionalProperties : undefined;
  if (inner) return fieldsOf(inner);
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(membersOf(schema))
    .flatMap(([name, member]): [string, SchemaPlace][] =>
      isJsonObject(member) ? [[name, { schema: member, isRequired: required.includes(name) }]] : [],
    )
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

/** The fields that one level of a schema names, with their schemas. */
export function membersOf({ properties }: JsonObject): JsonObject {
  return isJsonObject(properties) ? properties : {};
}

function treeLines(schema: JsonObject, indent: string): string[] {
  return fieldsOf(schema).flatMap(([name, place]) => [
    `${indent}${heading(name, place)}`,
    ...treeLines(place.schema, `${indent}  `),
  ]);
}

/** "image <string> -required-". */
function heading(name: string, { schema, isRequired }: SchemaPlace): string {
  return `${name} <${typeOf(schema)}>${isRequired ? ' -required-' : ''}`;
}

/** As kubectl calls it: "string", "[]Object", "map[string]integer". */
function typeOf(schema: Json | undefined): string {
  if (!isJsonObject(schema)) return 'Object';
  const { type, items, additionalProperties, 'x-berth-type': known } = schema;
  if (typeof known === 'string') return known;
  if (schema['x-kubernetes-int-or-string'] === true) return 'IntOrString';
  if (type === 'array') return `[]${typeOf(items)}`;
  if (type === 'object' && isJsonObject(additionalProperties)) return `map[string]${typeOf(additionalProperties)}`;
  return typeof type === 'string' && type !== 'object' ? type : 'Object';
}

function textOf({ description }: JsonObject): string {
  return typeof description === 'string' ? description.replace(/\s+/g, ' ').trim() : '';
}

const enumOf = (schema: JsonObject): string[] =>
  Array.isArray(schema.enum) ? schema.enum.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))) : [];

function enumLine(schema: JsonObject): string[] {
  const values = enumOf(schema);
  return values.length > 0 ? wrap(`one of ${values.join(', ')}`, '    ') : [];
}
