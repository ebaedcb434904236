import { isJsonObject, type Json, type JsonObject, setMember } from '../../api/meta/merge-patch.ts';
import type { SchemaNode } from './schema-node.ts';

/**
 * Sets the defaults of what is missing, in place, as Kubernetes does: a default is copied, and completed by those of
 * its own parts; a null counts as missing where the schema is not nullable. Nulls that are not nullable and have no
 * default are removed afterwards.
 */
export function applyDefaults(value: Json, node: SchemaNode): void {
  if (isJsonObject(value)) defaultMembers(value, node);
  else if (Array.isArray(value) && node.items !== undefined) defaultItems(value, node.items);
}

function defaultMembers(object: JsonObject, node: SchemaNode): void {
  for (const [name, property] of node.properties ?? []) {
    if (property.default === undefined) continue;
    if (!Object.hasOwn(object, name) || isRefusedNull(object[name], property))
      setMember(object, name, structuredClone(property.default));
  }
  for (const name of Object.keys(object)) {
    const inner = schemaOfMember(node, name);
    if (inner === undefined) continue;
    if (isRefusedNull(object[name], inner)) {
      if (inner.default === undefined) {
        delete object[name];
        continue;
      }
      setMember(object, name, structuredClone(inner.default));
    }
    applyDefaults(object[name]!, inner);
  }
}

function defaultItems(list: Json[], items: SchemaNode): void {
  for (let at = 0; at < list.length; at++) {
    if (items.default !== undefined && isRefusedNull(list[at], items)) list[at] = structuredClone(items.default);
    applyDefaults(list[at]!, items);
  }
}

function isRefusedNull(value: Json | undefined, node: SchemaNode): boolean {
  return value === null && !node.nullable;
}

/** The schema of one member of an object: that of the property, else that of all values. */
export function schemaOfMember(node: SchemaNode, name: string): SchemaNode | undefined {
  const property = node.properties?.get(name);
  if (property !== undefined) return property;
  return node.additionalProperties === true ? undefined : node.additionalProperties;
}
