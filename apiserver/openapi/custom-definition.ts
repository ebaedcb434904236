import { isJsonObject, type JsonObject } from '../../api/meta/merge-patch.ts';
import { definitionName } from './definition-names.ts';
import { type GroupVersionKind, GVK, type OpenApiVersion, reference, rootMembers, type Schema } from './definitions.ts';

const PRESERVE = 'x-kubernetes-preserve-unknown-fields';
const METADATA = "Standard object's metadata: name, namespace, labels and so on.";

/** The members of a schema that readers of OpenAPI v2 understand. */
const plain: ReadonlySet<string> = new Set(['description', 'title', 'type', 'format', 'required', 'enum', 'pattern']);

/**
 * The definition of a kind that users added: what its definition says, with the members that every object has. Without
 * a schema it is an object of anything, for v2 also where it keeps unknown fields: its readers take any properties for
 * all that there are. Pure.
 */
export function customDefinition(schema: JsonObject | undefined, gvk: GroupVersionKind, version: OpenApiVersion): Schema {
  if (!schema) return { type: 'object', ...(version === 3 && { [PRESERVE]: true }), [GVK]: [gvk] };
  if (version === 2 && schema[PRESERVE] === true) return { type: 'object', [GVK]: [gvk] };
  const told = version === 2 ? simplified(schema) : withEmbedded(schema);
  const properties = { ...(isJsonObject(told.properties) ? told.properties : {}), ...resourceMembers(version) };
  return { ...told, type: 'object', properties, [GVK]: [gvk] };
}

function resourceMembers(version: OpenApiVersion): Schema {
  return { ...rootMembers, metadata: reference(definitionName('berth.meta.v1.ObjectMeta'), version, METADATA) };
}

/** The same, in which each embedded resource has the members that every object has. */
function withEmbedded(schema: JsonObject): Schema {
  const told: Schema = { ...schema };
  for (const name of ['items', 'additionalProperties'] as const) {
    const inner = schema[name];
    if (isJsonObject(inner)) told[name] = withEmbedded(inner);
  }
  const { properties } = schema;
  if (isJsonObject(properties))
    told.properties = Object.fromEntries(
      Object.entries(properties).map(([key, each]) => [key, isJsonObject(each) ? withEmbedded(each) : each]),
    );
  if (schema['x-kubernetes-embedded-resource'] !== true) return told;
  const own = isJsonObject(told.properties) ? told.properties : {};
  return { ...told, properties: { ...own, ...resourceMembers(3) } };
}

/**
 * As OpenAPI v2 can say it: no alternatives and no null. What holds fields of no schema, or values of several types,
 * has no type, since readers of v2 refuse what a type does not have.
 */
function simplified(schema: JsonObject): Schema {
  const kept: Schema = {};
  for (const [name, value] of Object.entries(schema)) {
    if (plain.has(name)) kept[name] = value;
    else if (name.startsWith('x-kubernetes-') && name !== 'x-kubernetes-validations') kept[name] = value;
    else if (name === 'items' && isJsonObject(value)) kept.items = simplified(value);
    else if (name === 'additionalProperties') kept[name] = isJsonObject(value) ? simplified(value) : value;
    else if (name === 'properties' && isJsonObject(value))
      kept.properties = Object.fromEntries(
        Object.entries(value).map(([key, each]) => [key, isJsonObject(each) ? simplified(each) : {}]),
      );
  }
  const isOpen = schema[PRESERVE] === true || schema['x-kubernetes-embedded-resource'] === true;
  if (isOpen || schema.nullable === true || schema['x-kubernetes-int-or-string'] === true)
    for (const name of ['type', 'format', 'properties', 'items', 'required', 'additionalProperties']) delete kept[name];
  return kept;
}
