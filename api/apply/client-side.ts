import { type FieldSet, isEmptySet, unite } from '../meta/field-set.ts';
import { readLastApplied } from '../meta/last-applied.ts';
import type { JsonObject } from '../meta/merge-patch.ts';
import { annotations } from '../meta/well-known.ts';
import type { ApplyConflict } from './apply.ts';
import { compareFields } from './compare.ts';
import { difference, intersection } from './field-sets.ts';
import type { FieldType } from './field-type.ts';
import { fieldsOf } from './fields-of.ts';
import { entryId, type ManagerEntry, managedPart, withCreatorFields } from './managers.ts';

// From client-side apply, which notes in an annotation what it applied last, to server-side apply.

/** The managers of the command lines, whose applies go on where their client-side applies have ended. */
const COMMAND_LINES: readonly string[] = ['berth', 'kubectl'];
const NOTE: FieldSet = { 'f:metadata': { 'f:annotations': { [`f:${annotations.lastApplied}`]: {} } } };

/**
 * Whether conflicts are only with what a client-side apply noted and is still so: the command line then takes that over
 * without force, as in Kubernetes.
 */
export function isUpgrade(
  type: FieldType,
  live: JsonObject,
  conflicts: readonly ApplyConflict[],
  { manager = '', subresource = '' }: ManagerEntry,
): boolean {
  const noted = COMMAND_LINES.includes(manager) && subresource === '' ? notedConfig(live) : undefined;
  if (!noted) return false;
  const { changed, removed } = compareFields(type, noted, managedPart(live, '', true));
  const unchanged = difference(difference(fieldsOf(type, noted), changed), removed);
  return conflicts.every(({ fields }) => isEmptySet(difference(fields, unchanged)));
}

function notedConfig(live: JsonObject): JsonObject | undefined {
  const noted = readLastApplied(live);
  return noted && managedPart(noted, '', true);
}

/**
 * The entries of an object that was applied by clients, with what they own moved to a manager that applies on the
 * server, as kubectl does: those entries that own the note of the client-side apply end. Undefined: there are none.
 */
export function upgradedEntries(
  type: FieldType,
  object: JsonObject,
  hasStatus: boolean,
  manager: string,
): ManagerEntry[] | undefined {
  const entries = withCreatorFields(type, object, hasStatus);
  const isClientSide = ({ operation, subresource, fieldsV1 = {} }: ManagerEntry): boolean =>
    operation === 'Update' && !subresource && !isEmptySet(intersection(fieldsV1, NOTE));
  const old = entries.filter(isClientSide);
  const [first] = old;
  if (!first) return undefined;
  const { apiVersion, time } = first;
  const applier: ManagerEntry = {
    manager,
    operation: 'Apply',
    ...(apiVersion && { apiVersion }),
    ...(time && { time }),
    fieldsType: 'FieldsV1',
  };
  const own = entries.filter((entry) => entryId(entry) === entryId(applier));
  const fieldsV1 = [...own, ...old].map((entry) => entry.fieldsV1 ?? {}).reduce(unite);
  const others = entries.filter((entry) => !old.includes(entry) && !own.includes(entry));
  return [{ ...applier, ...own[0], fieldsV1 }, ...others];
}
