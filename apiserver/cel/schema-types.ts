import type { SchemaNode } from '../schema/schema-node.ts';
import type { ObjectType } from './environment.ts';
import { escapeName } from './escape.ts';
import { resourceNode } from './values.ts';

/** The CEL type of a level of a schema, and the object types that it needs, as Kubernetes maps them. */
export interface SchemaTypes {
  readonly type: string;
  readonly types: readonly ObjectType[];
}

/** The types of a rule's `self`. `isResource`: it is the object itself, which has apiVersion, kind and metadata. */
export function schemaTypes(node: SchemaNode, isResource: boolean): SchemaTypes {
  const types: ObjectType[] = [];
  const type = typeOf(isResource ? resourceNode(node) : node, 'object', types);
  return { type, types };
}

const TEXT_TYPES: Readonly<Record<string, string>> = {
  byte: 'bytes',
  date: 'google.protobuf.Timestamp',
  'date-time': 'google.protobuf.Timestamp',
  datetime: 'google.protobuf.Timestamp',
  duration: 'google.protobuf.Duration',
};

function typeOf(node: SchemaNode, name: string, types: ObjectType[]): string {
  if (node.intOrString) return 'dyn';
  switch (node.type) {
    case 'object':
      return objectType(node, name, types);
    case 'array':
      return node.items === undefined ? 'list<dyn>' : `list<${typeOf(node.items, `${name}.items`, types)}>`;
    case 'string':
      return (node.format !== undefined && TEXT_TYPES[node.format]) || 'string';
    case 'integer':
      return 'int';
    case 'number':
      return 'double';
    case 'boolean':
      return 'bool';
    default:
      return 'dyn';
  }
}

function objectType(given: SchemaNode, name: string, types: ObjectType[]): string {
  const node = given.embeddedResource ? resourceNode(given) : given;
  const { additionalProperties: values } = node;
  if (node.properties === undefined && values !== undefined)
    return `map<string, ${values === true ? 'dyn' : typeOf(values, `${name}.values`, types)}>`;
  const type = `${name}_${types.length}`.replaceAll(/[^A-Za-z0-9_.]/g, '_');
  const fields: Record<string, string> = {};
  const made = { name: type, fields };
  for (const [property, inner] of node.properties ?? []) {
    const escaped = escapeName(property);
    if (escaped !== undefined) fields[escaped] = typeOf(inner, `${name}.${escaped}`, types);
  }
  // Types stand behind those that they name.
  types.push(made);
  return type;
}
