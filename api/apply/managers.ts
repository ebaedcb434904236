import { equalValues } from '../meta/equal.ts';
import { type FieldSet, isEmptySet, unite, uniteAll } from '../meta/field-set.ts';
import { isJsonObject, type JsonObject } from '../meta/merge-patch.ts';
import type { OwnedFields } from './apply.ts';
import { difference } from './field-sets.ts';
import type { FieldType } from './field-type.ts';
import { fieldsOf } from './fields-of.ts';

/** An entry of metadata.managedFields in its JSON form. */
export interface ManagerEntry {
  readonly manager?: string;
  readonly operation?: string;
  readonly apiVersion?: string;
  readonly time?: string;
  readonly fieldsType?: string;
  /** Absent in the entry of an object's creator: all fields that no other entry names. */
  readonly fieldsV1?: FieldSet;
  readonly subresource?: string;
}

/** What of the metadata has managers; the rest is the server's, or names the object. */
export const managedMetadata = ['labels', 'annotations', 'ownerReferences', 'finalizers'] as const;

/**
 * The part of an object that a manager may own: without what names it and what only the server writes. Of a kind with a
 * status, a write to the object owns nothing of the status, and one to the status nothing else but metadata.
 */
export function managedPart(object: JsonObject, subresource: string, hasStatus: boolean): JsonObject {
  const { apiVersion: _version, kind: _kind, metadata, status, ...rest } = object;
  const sent = isJsonObject(metadata) ? metadata : {};
  const kept = Object.fromEntries(managedMetadata.flatMap((name) => (name in sent ? [[name, sent[name]!]] : [])));
  const part: JsonObject = Object.keys(kept).length > 0 ? { metadata: kept } : {};
  if (subresource === 'status') return status === undefined ? part : { ...part, status };
  return hasStatus || status === undefined ? { ...part, ...rest } : { ...part, ...rest, status };
}

/** The entries of an object in its JSON form. */
export function managersOf({ metadata }: JsonObject): readonly ManagerEntry[] {
  const entries = isJsonObject(metadata) ? metadata.managedFields : undefined;
  return Array.isArray(entries) ? (entries as unknown as ManagerEntry[]) : [];
}

/** An object that has no entries, as one whose entries were cleared, with an entry for all that was there before. */
export function withManager(object: JsonObject, apiVersion: string): JsonObject {
  if (managersOf(object).length > 0) return object;
  const entry = { manager: 'before-first-apply', operation: 'Update', apiVersion, fieldsType: 'FieldsV1' };
  return { ...object, metadata: { ...(object.metadata as JsonObject), managedFields: [entry] } };
}

/** The entries with a set of fields in each: the creator's gets all that no other names. */
export function withCreatorFields(type: FieldType, object: JsonObject, hasStatus: boolean): readonly ManagerEntry[] {
  const entries = managersOf(object);
  if (entries.every(({ fieldsV1 }) => fieldsV1)) return entries;
  const named = uniteAll(entries.map(({ fieldsV1 = {} }) => fieldsV1));
  const rest = difference(fieldsOf(type, managedPart(object, '', hasStatus)), named);
  let isFirst = true;
  return entries.flatMap((entry) => {
    if (entry.fieldsV1) return [entry];
    const fieldsV1 = isFirst ? rest : {};
    isFirst = false;
    return isEmptySet(fieldsV1) ? [] : [{ ...entry, fieldsV1 }];
  });
}

/**
 * Tells an entry from the others of an object, as Kubernetes does: a manager that applies has one entry for all
 * versions.
 */
export function entryId({ manager = '', operation = '', apiVersion = '', subresource = '' }: ManagerEntry): string {
  return JSON.stringify([manager, operation, subresource, operation === 'Apply' ? '' : apiVersion]);
}

/** What each entry owns, by its id; of two with the same id together. */
export function ownedByEntries(entries: readonly ManagerEntry[]): Map<string, FieldSet> {
  const owned = new Map<string, FieldSet>();
  for (const entry of entries) {
    const [id, fields] = [entryId(entry), entry.fieldsV1 ?? {}];
    owned.set(id, owned.has(id) ? unite(owned.get(id)!, fields) : fields);
  }
  return owned;
}

/**
 * The entries after an apply: those of managers that own nothing any more are gone, and `applier` (without fields) is
 * there. Its time changes with its fields, or when `isChanged`: it changed the object.
 */
export function entriesAfterApply(
  entries: readonly ManagerEntry[],
  owned: OwnedFields,
  applier: ManagerEntry,
  isChanged: boolean,
): ManagerEntry[] {
  const applierId = entryId(applier);
  const left = new Map(owned);
  const result: ManagerEntry[] = [];
  for (const entry of entries) {
    const id = entryId(entry);
    const fieldsV1 = left.get(id);
    left.delete(id);
    if (fieldsV1 === undefined) continue;
    if (id !== applierId) result.push({ ...entry, fieldsV1 });
    else if (!isChanged && equalValues(fieldsV1, entry.fieldsV1)) result.push(entry);
    else result.push({ ...entry, ...applier, fieldsV1 });
  }
  const own = left.get(applierId);
  if (own === undefined) return result;
  const isApply = ({ operation }: ManagerEntry): boolean => operation === 'Apply';
  return [...result.filter(isApply), { ...applier, fieldsV1: own }, ...result.filter((entry) => !isApply(entry))];
}
