import { type FieldSet, isEmptySet, SELF } from '../meta/field-set.ts';
import { isJsonObject, type Json } from '../meta/merge-patch.ts';
import { type FieldType, typeOfValue } from './field-type.ts';
import { checkItems, itemStep, memberStep } from './steps.ts';

/**
 * The set of fields that a value has, as its applier owns them: leaves, items of lists and keys of maps, but not the
 * objects and lists that hold them.
 */
export function fieldsOf(type: FieldType | undefined, value: Json): FieldSet {
  return collect(type, value, undefined) ?? {};
}

/**
 * The same of a configuration that a client applies. Throws INVALID_ARGUMENT for lists whose items cannot be told
 * apart.
 */
export function fieldsOfConfig(type: FieldType | undefined, value: Json): FieldSet {
  return collect(type, value, '') ?? {};
}

/** Undefined: the value is a leaf. `path` is where the configuration is checked; undefined: it is not. */
function collect(type: FieldType | undefined, value: Json, path: string | undefined): FieldSet | undefined {
  const known = typeOfValue(type, value);
  if (known.kind === 'map' && isJsonObject(value)) {
    const result: FieldSet = {};
    for (const name of Object.keys(value)) {
      const member = value[name]!;
      const below = collect(known.member(name), member, path === undefined ? undefined : `${path}.${name}`);
      const isLeaf = below === undefined || member === null || (isJsonObject(member) && Object.keys(member).length === 0);
      if (isLeaf) result[memberStep(name)] = {};
      else if (!known.declares(name)) result[memberStep(name)] = named(below);
      // A list without items holds no field.
      else if (!isEmptySet(below)) result[memberStep(name)] = below;
    }
    return result;
  }
  if ((known.kind !== 'listMap' && known.kind !== 'set') || !Array.isArray(value)) return undefined;
  if (path !== undefined) checkItems(known, value, path);
  const result: FieldSet = {};
  const item = known.kind === 'listMap' ? known.item() : undefined;
  value.forEach((each, index) => {
    const below = item && collect(item, each, path === undefined ? undefined : `${path}[${index}]`);
    result[itemStep(known, each)] = named(below ?? {});
  });
  return result;
}

const named = (below: FieldSet): FieldSet => (isEmptySet(below) ? {} : { [SELF]: {}, ...below });
