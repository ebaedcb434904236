import { type FieldSet, isEmptySet, unite, uniteAll } from '../meta/field-set.ts';
import type { Json, JsonObject } from '../meta/merge-patch.ts';
import { compareFields } from './compare.ts';
import { difference, intersection, withNamedParents } from './field-sets.ts';
import type { FieldType } from './field-type.ts';
import { fieldsOf, fieldsOfConfig } from './fields-of.ts';
import { mergeFields } from './merge.ts';
import { removeFields } from './remove.ts';

/** What each manager owns, by a name that no two have. */
export type OwnedFields = ReadonlyMap<string, FieldSet>;

export interface ApplyInput {
  readonly type: FieldType;
  readonly live: JsonObject;
  /** What the applier wants: the fields that it is to own, and their values. */
  readonly config: JsonObject;
  readonly owned: OwnedFields;
  /** The manager that applies. */
  readonly applier: string;
  /** Takes over what other managers own, instead of failing. */
  readonly force: boolean;
  /**
   * What is stored of an object, with its defaults: a list that is one value may differ from the live one by the
   * defaults of its items alone, which is no conflict. Called only where there seem to be conflicts; absent: the object
   * itself.
   */
  complete?(object: JsonObject): JsonObject;
}

/** Fields that an apply would change, and that another manager owns. */
export interface ApplyConflict {
  readonly manager: string;
  readonly fields: FieldSet;
}

export type ApplyOutcome =
  | { readonly kind: 'conflicts'; readonly conflicts: readonly ApplyConflict[] }
  | {
      readonly kind: 'applied';
      /** `live` itself when nothing of it changes. */
      readonly object: JsonObject;
      /** Without the managers that own nothing any more. */
      readonly owned: OwnedFields;
    };

/**
 * Kubernetes' server-side apply, as a function: merges a configuration into the live object, removes what the applier
 * owned, no longer names and no other manager owns, and moves the ownership. Fields that change and have another
 * manager are conflicts, unless `force` is set. Pure. Throws INVALID_ARGUMENT for a configuration with lists whose
 * items cannot be told apart.
 */
export function computeApply(input: ApplyInput): ApplyOutcome {
  const { type, live, config, owned, applier } = input;
  const wanted = fieldsOfConfig(type, config);
  const last = owned.get(applier) ?? {};
  const managers = new Map(owned).set(applier, wanted);
  const merged = mergeFields(type, live, config) as JsonObject;
  // Pruning removes nothing but what is no longer named.
  const object = isEmptySet(difference(last, wanted)) ? merged : prune(type, merged, managers, last);
  if (!Object.is(object, live)) {
    const conflicts = moveOwnership(input, object, managers);
    if (conflicts.length > 0) return { kind: 'conflicts', conflicts };
  }
  for (const [manager, fields] of managers) if (isEmptySet(fields)) managers.delete(manager);
  return { kind: 'applied', object, owned: managers };
}

/**
 * Takes from all other managers what the applier changed or removed. Gives the conflicts, if there are any and no
 * `force`; then nothing is taken.
 */
function moveOwnership(input: ApplyInput, object: JsonObject, managers: Map<string, FieldSet>): ApplyConflict[] {
  const { type, live, applier, force, complete } = input;
  const others = [...managers].filter(([manager]) => manager !== applier);
  let { changed, removed } = compareFields(type, live, object);
  let conflicts = conflictsOf(others, changed);
  if (conflicts.length > 0 && complete) {
    changed = intersection(changed, compareFields(type, live, complete(object)).changed);
    conflicts = conflictsOf(others, changed);
  }
  if (conflicts.length > 0 && !force) return conflicts;
  for (const [manager, fields] of others) managers.set(manager, difference(difference(fields, changed), removed));
  return [];
}

function conflictsOf(others: readonly [string, FieldSet][], changed: FieldSet): ApplyConflict[] {
  return others
    .map(([manager, fields]) => ({ manager, fields: intersection(fields, changed) }))
    .filter(({ fields }) => !isEmptySet(fields));
}

/**
 * The merged object without what the applier owned, does not name any more, and no manager owns; what stands below it
 * and was never owned goes with it.
 */
function prune(type: FieldType, merged: JsonObject, managers: OwnedFields, last: FieldSet): JsonObject {
  const membersOf = (value: Json): FieldSet => withNamedParents(fieldsOf(type, value), type);
  const without = (fields: FieldSet): JsonObject => (removeFields(type, merged, fields) ?? {}) as JsonObject;
  const [owned, given] = [uniteAll([...managers.values()]), withNamedParents(last, type)];
  const all = membersOf(merged);
  // What another manager, or the new configuration, owns comes back ...
  const kept = unite(membersOf(without(given)), withNamedParents(owned, type));
  const pruned = without(difference(all, kept));
  // ... and so does what the applier never owned.
  const gone = intersection(difference(all, membersOf(pruned)), given);
  return isEmptySet(gone) ? merged : without(gone);
}
