import type { FieldViolation } from '../../api/errors/index.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { isJsonObject, type Json, type JsonObject } from '../../api/meta/merge-patch.ts';
import type { Budget } from '../cel/budget.ts';
import { schemaOfMember } from './defaults.ts';
import { checkListKeys, mapKeyOf } from './list-keys.ts';
import { entry, member, type Place, placeText } from './paths.ts';
import { RESOURCE_MEMBERS } from './prune.ts';
import type { SchemaNode } from './schema-node.ts';
import { invalidAt, requiredAt } from './schema-violations.ts';
import { checkRules, hasType, wrongType } from './validate-rules.ts';

/** Violations after which the walk over an object stops. */
export const REPORTED_VIOLATIONS = 100;

/** A value with its schema, where it stands, and what stood in its place before an update. */
export interface Judged {
  readonly value: Json;
  readonly node: SchemaNode;
  readonly place: Place | undefined;
  /** Undefined on create, and where nothing corresponds: items of lists that are neither maps nor equal as a whole. */
  readonly before: Json | undefined;
}

/**
 * What breaks the schema, rules in CEL apart, at most a hundred. What was invalid before and has not changed passes:
 * Kubernetes' ratcheting.
 */
export function checkValue(judged: Judged, budget: Budget): FieldViolation[] {
  budget.take(1);
  const { value, node, place, before } = judged;
  const violations = ownViolations(value, node, place, budget);
  if (violations === undefined) return [];
  if (isJsonObject(value) && (node.properties !== undefined || node.additionalProperties !== undefined || node.embeddedResource))
    checkMembers(judged, violations, budget);
  else if (Array.isArray(value) && node.items !== undefined) checkItems(judged, violations, budget);
  else checkNumbers({ value, place, before }, violations, node.type === 'number');
  if (violations.length > 0 && before !== undefined && equalValues(before, value)) return [];
  return violations;
}

/** Undefined for a value that passes as a whole: null where that is allowed. */
function ownViolations(value: Json, node: SchemaNode, place: Place | undefined, budget: Budget): FieldViolation[] | undefined {
  if (value === null && node.nullable) return undefined;
  if (node.intOrString) {
    if (typeof value !== 'string' && !hasType(value, 'integer')) return [wrongType(value, 'integer or string', place)];
  } else if (node.type !== undefined && !hasType(value, node.type)) return [wrongType(value, node.type, place)];
  const violations = checkRules(value, node, place, budget);
  if (Array.isArray(value) && node.listType !== undefined) violations.push(...checkListKeys(value, node, place));
  if (node.embeddedResource && isJsonObject(value)) checkEmbedded(value, place, violations);
  return violations;
}

function checkMembers({ value, node, place, before }: Judged, violations: FieldViolation[], budget: Budget): void {
  const object = value as JsonObject;
  for (const name of Object.keys(object)) {
    if (violations.length >= REPORTED_VIOLATIONS) return;
    const inner = schemaOfMember(node, name);
    const old = isJsonObject(before) && Object.hasOwn(before, name) ? before[name] : undefined;
    if (inner === undefined) {
      // The metadata of the object itself are of a known type.
      const isKnown = place === undefined && name === 'metadata';
      if (!isKnown) checkNumbers({ value: object[name]!, place: member(place, name), before: old }, violations, false);
      continue;
    }
    const at = node.properties?.has(name) ? member(place, name) : entry(place, name);
    violations.push(...checkValue({ value: object[name]!, node: inner, place: at, before: old }, budget));
  }
}

function checkItems({ value, node, place, before }: Judged, violations: FieldViolation[], budget: Budget): void {
  const beforeOf = correspondingItems(node, before);
  for (const [at, item] of (value as Json[]).entries()) {
    if (violations.length >= REPORTED_VIOLATIONS) return;
    violations.push(...checkValue({ value: item, node: node.items!, place: entry(place, at), before: beforeOf(item) }, budget));
  }
}

/** Finds the item that an item of a list map replaces; in other lists nothing corresponds. */
export function correspondingItems(node: SchemaNode, before: Json | undefined): (item: Json) => Json | undefined {
  const keys = node.listMapKeys;
  if (node.listType !== 'map' || keys === undefined || !Array.isArray(before)) return () => undefined;
  const byKey = new Map<string, Json>();
  for (const item of before) {
    const key = mapKeyOf(item, keys);
    if (key !== undefined) byKey.set(key, item);
  }
  return (item) => {
    const key = mapKeyOf(item, keys);
    return key === undefined ? undefined : byKey.get(key);
  };
}

function checkEmbedded(object: JsonObject, place: Place | undefined, violations: FieldViolation[]): void {
  for (const name of RESOURCE_MEMBERS) {
    const at = placeText(member(place, name));
    const value = object[name];
    if (name === 'metadata') {
      if (value !== undefined && !isJsonObject(value)) violations.push(invalidAt(at, value, 'must be an object'));
    } else if (value === undefined || value === '') violations.push(requiredAt(at, 'must not be empty'));
    else if (typeof value !== 'string') violations.push(invalidAt(at, value, 'must be a string'));
  }
}

/** The numbers of an object, as far as its schema keeps them, that cannot be kept as they were written. */
export function unkeptNumbers(object: JsonObject, root: SchemaNode): FieldViolation[] {
  const violations: FieldViolation[] = [];
  const visit = (value: Json, node: SchemaNode, place: Place | undefined): void => {
    if (isJsonObject(value))
      for (const [name, each] of Object.entries(value)) {
        const inner = schemaOfMember(node, name);
        const at = node.properties?.has(name) ? member(place, name) : entry(place, name);
        if (inner !== undefined) visit(each, inner, at);
        else if (node.preserveUnknownFields || node.additionalProperties === true)
          checkNumbers({ value: each, place: at, before: undefined }, violations, false);
      }
    else if (Array.isArray(value) && node.items !== undefined)
      for (const [index, each] of value.entries()) visit(each, node.items, entry(place, index));
    else checkNumbers({ value, place, before: undefined }, violations, node.type === 'number');
  };
  visit(object, root, undefined);
  return violations;
}

/**
 * Numbers that cannot be kept as they were written, in a value of which the schema says no more. JSON is read into
 * doubles: without an error, the last digits of a large whole number would become others. `isDouble` is for a value
 * that is to be one.
 */
function checkNumbers({ value, place, before }: Omit<Judged, 'node'>, violations: FieldViolation[], isDouble: boolean): void {
  if (violations.length >= REPORTED_VIOLATIONS) return;
  if (typeof value === 'number') {
    const why = value === before ? undefined : unkept(value, isDouble);
    if (why !== undefined) violations.push(invalidAt(placeText(place), value, why));
  } else if (Array.isArray(value))
    for (const [at, item] of value.entries())
      checkNumbers(
        { value: item, place: entry(place, at), before: Array.isArray(before) ? before[at] : undefined },
        violations,
        false,
      );
  else if (isJsonObject(value))
    for (const name of Object.keys(value)) {
      const old = isJsonObject(before) && Object.hasOwn(before, name) ? before[name] : undefined;
      checkNumbers({ value: value[name]!, place: member(place, name), before: old }, violations, false);
    }
}

function unkept(number: number, isDouble: boolean): string | undefined {
  if (!Number.isFinite(number)) return 'is beyond what a number can be: write it as a text';
  if (isDouble || !Number.isInteger(number) || Number.isSafeInteger(number)) return undefined;
  return 'must be within ±(2^53-1), as larger whole numbers would lose digits: write it as a text';
}
