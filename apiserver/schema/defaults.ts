import { isJsonObject, type Json, type JsonObject, setMember } from '../../api/meta/merge-patch.ts';
import { Budget } from '../cel/budget.ts';
import type { SchemaNode } from './schema-node.ts';

/**
 * Values that defaults may write into one object; a hundred characters of text count as one. An object of more elements
 * is refused anyway.
 */
export const DEFAULT_VALUES = 10_000;

/**
 * Sets the defaults of what is missing, in place, as Kubernetes does: a default is copied, and completed by those of
 * its own parts; a null counts as missing where the schema is not nullable. Nulls that are not nullable and have no
 * default are removed afterwards. Throws BudgetExceeded once the values that it writes exceed the budget.
 */
export function applyDefaults(value: Json, node: SchemaNode, budget = new Budget(DEFAULT_VALUES, 'defaults')): void {
  if (isJsonObject(value)) defaultMembers(value, node, budget);
  else if (Array.isArray(value) && node.items !== undefined) defaultItems(value, node.items, budget);
}

function defaultMembers(object: JsonObject, node: SchemaNode, budget: Budget): void {
  for (const [name, property] of propertiesWithDefault(node))
    if (!Object.hasOwn(object, name) || isRefusedNull(object[name], property))
      setMember(object, name, copyOf(property.default!, budget));
  for (const name of Object.keys(object)) {
    const inner = schemaOfMember(node, name);
    if (inner === undefined) continue;
    if (isRefusedNull(object[name], inner)) {
      if (inner.default === undefined) {
        delete object[name];
        continue;
      }
      setMember(object, name, copyOf(inner.default, budget));
    }
    applyDefaults(object[name]!, inner, budget);
  }
}

function defaultItems(list: Json[], items: SchemaNode, budget: Budget): void {
  for (let at = 0; at < list.length; at++) {
    if (items.default !== undefined && isRefusedNull(list[at], items)) list[at] = copyOf(items.default, budget);
    applyDefaults(list[at]!, items, budget);
  }
}

const withDefault = new WeakMap<SchemaNode, readonly (readonly [string, SchemaNode])[]>();

/** Found once: a list may have thousands of items, and their schema thousands of properties without a default. */
function propertiesWithDefault(node: SchemaNode): readonly (readonly [string, SchemaNode])[] {
  let found = withDefault.get(node);
  if (found === undefined) {
    found = [...(node.properties ?? [])].filter(([, property]) => property.default !== undefined);
    withDefault.set(node, found);
  }
  return found;
}

/** A copy that takes its size of the budget, before it is made. */
function copyOf(value: Json, budget: Budget): Json {
  budget.take(typeof value === 'string' ? 1 + Math.floor(value.length / 100) : 1);
  if (Array.isArray(value)) return value.map((item) => copyOf(item, budget));
  if (!isJsonObject(value)) return value;
  const copy: JsonObject = {};
  for (const name of Object.keys(value)) setMember(copy, name, copyOf(value[name]!, budget));
  return copy;
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
