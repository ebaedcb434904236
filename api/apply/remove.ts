import { type FieldSet, isEmptySet, SELF } from '../meta/field-set.ts';
import { isJsonObject, type Json, type JsonObject, setMember } from '../meta/merge-patch.ts';
import { type FieldType, typeOfValue } from './field-type.ts';
import { itemStep, memberStep } from './steps.ts';

/**
 * The value without the members and items of a set. What has lost all its parts is null, as in Kubernetes. The argument
 * is not changed.
 */
export function removeFields(type: FieldType | undefined, value: Json, fields: FieldSet): Json {
  if (isEmptySet(fields)) return value;
  const known = typeOfValue(type, value);
  if (known.kind === 'map' && isJsonObject(value)) {
    const kept: JsonObject = {};
    for (const name of Object.keys(value)) {
      const left = without(known.member(name), value[name]!, memberStep(name), fields);
      if (left !== undefined) setMember(kept, name, left);
    }
    return Object.keys(kept).length > 0 ? kept : null;
  }
  if ((known.kind !== 'listMap' && known.kind !== 'set') || !Array.isArray(value)) return value;
  const item = known.kind === 'listMap' ? known.item() : undefined;
  const kept = value
    .map((each) => without(item, each, itemStep(known, each), fields))
    .filter((each) => each !== undefined && each !== null);
  return kept.length > 0 ? kept : null;
}

/** Undefined: the value itself is in the set. */
function without(type: FieldType | undefined, value: Json, step: string, fields: FieldSet): Json | undefined {
  const below = Object.hasOwn(fields, step) ? fields[step]! : undefined;
  if (below === undefined) return value;
  return isEmptySet(below) || Object.hasOwn(below, SELF) ? undefined : removeFields(type, value, below);
}
