import { managedMetadata } from '../../../api/apply/managers.ts';
import { fieldChanges } from '../../../api/codec/field-changes.ts';
import type { FieldViolation } from '../../../api/errors/index.ts';
import { invalidSize, invalidValue, notSupported, required, tooLong } from '../../../api/errors/violations.ts';
import type { ManagedFieldsEntry, ObjectMeta, Timestamp } from '../../../api/generated/types.ts';
import type { Kind } from '../../../api/kinds/kind.ts';
import { equalValues } from '../../../api/meta/equal.ts';
import { coarsen, type FieldSet, isEmptySet, SELF, subtract, unite, uniteAll } from '../../../api/meta/field-set.ts';
import { isJsonObject } from '../../../api/meta/merge-patch.ts';
import { compareTimestamps, secondsTimestamp } from '../../../api/meta/time.ts';
import type { AnyObject } from '../any-object.ts';

/** The managed fields: which manager wrote which fields, and when. */
export interface FieldWriter {
  readonly manager: string;
  /** Empty for the object itself. */
  readonly subresource: string;
  readonly time: Timestamp;
}

/** More managers than these that update are counted together, as Kubernetes does. */
const MAX_MANAGERS = 10;
const OLDER_MANAGERS = 'ancient-changes';
/** The sets of all managers of an object that update, together. What is larger is named more coarsely. */
const MAX_BYTES = 64 * 1024;
/** The sets of all managers that apply, together: none of them is named more coarsely to save room. */
export const MAX_APPLIED_BYTES = 512 * 1024;
/** Entries that a client may write. */
const MAX_WRITTEN = 100;
const DEPTHS = [Number.POSITIVE_INFINITY, 5, 3, 2, 1];

/**
 * Whether objects of the kind have managed fields. Those of kinds without history do not: most are written every few
 * seconds.
 */
export function recordsManagers(kind: Kind): boolean {
  return kind.durability === 'synced';
}

/**
 * The entry of an object's creator. It names no fields and so means all that no other entry names: a new object, which
 * most objects stay, needs no list of what it holds.
 */
export function creatorEntry(kind: Kind, manager: string, time: Timestamp): ManagedFieldsEntry {
  return { manager, operation: 'Update', apiVersion: kind.apiVersion, time, fieldsType: 'FieldsV1' };
}

/**
 * Whether a client clears the list, with one empty entry. An empty list says nothing, as older clients drop the field.
 */
export function clearsManagers(sent: ObjectMeta): boolean {
  const [first] = sent.managedFields ?? [];
  return sent.managedFields?.length === 1 && first !== undefined && Object.values(first).every((value) => value === undefined);
}

/**
 * The entries after a change: the writer owns the fields that it added or changed, other managers lose them, and those
 * that are gone have no manager. `entries` are those before the change.
 */
export function recordFields(
  kind: Kind,
  entries: readonly ManagedFieldsEntry[],
  { previous, next }: { readonly previous: AnyObject; readonly next: AnyObject },
  writer: FieldWriter,
): readonly ManagedFieldsEntry[] {
  const { changed, removed } = fieldChanges(kind.message, tracked(previous), tracked(next), kind.fieldType?.());
  if (isEmptySet(changed) && isEmptySet(removed)) return entries;
  const kept: ManagedFieldsEntry[] = [];
  let written = isEmptySet(changed);
  for (const entry of entries) {
    const own = isOf(entry, writer);
    if (!entry.fieldsV1) {
      kept.push(own && !written ? { ...entry, time: writer.time } : entry);
      if (own) written = true;
      continue;
    }
    const fields = changedEntry(parse(entry), own ? changed : undefined, [removed, own ? {} : changed]);
    const time = own && !isEmptySet(changed) ? writer.time : entry.time;
    if (own) written = true;
    if (fields && !isEmptySet(fields)) kept.push(withFields({ ...entry, time: time ?? writer.time }, fields));
  }
  if (!written) kept.push(withFields(newEntry(kind, writer), changed));
  return bounded(kept);
}

function tracked(object: AnyObject): AnyObject {
  const metadata: ObjectMeta = {};
  for (const name of managedMetadata) {
    const value = object.metadata?.[name];
    if (value !== undefined) Object.assign(metadata, { [name]: value });
  }
  return { ...object, metadata };
}

function isOf(entry: ManagedFieldsEntry, writer: FieldWriter): boolean {
  return entry.manager === writer.manager && entry.operation === 'Update' && (entry.subresource ?? '') === writer.subresource;
}

function newEntry(kind: Kind, { manager, subresource, time }: FieldWriter): ManagedFieldsEntry {
  return { ...creatorEntry(kind, manager, time), ...(subresource && { subresource }) };
}

function changedEntry(fields: FieldSet, more: FieldSet | undefined, taken: readonly FieldSet[]): FieldSet | undefined {
  let left: FieldSet | undefined = fields;
  for (const each of taken) left = left && subtract(left, each);
  return more && !isEmptySet(more) ? unite(left ?? {}, more) : left;
}

/** An entry that cannot be read names nothing. */
const parse = ({ fieldsV1 = {} }: ManagedFieldsEntry): FieldSet => (parseFields(fieldsV1) ?? {}) as FieldSet;

function withFields(entry: ManagedFieldsEntry, fields: FieldSet): ManagedFieldsEntry {
  return { ...entry, fieldsV1: { Raw: Buffer.from(JSON.stringify(fields)) } };
}

/** The creator's entry first, then in the order of time; never more than the bounds allow. */
function bounded(entries: readonly ManagedFieldsEntry[]): readonly ManagedFieldsEntry[] {
  const creator = entries.filter((entry) => !entry.fieldsV1);
  const others = entries.filter((entry) => entry.fieldsV1).sort((a, b) => compareTimestamps(a.time, b.time));
  return [...creator, ...smaller(fewer(others))];
}

/** Managers that apply are never counted together: what they own would not be pruned any more. */
function fewer(all: readonly ManagedFieldsEntry[]): readonly ManagedFieldsEntry[] {
  const entries = all.filter(({ operation }) => operation !== 'Apply');
  const surplus = entries.length - MAX_MANAGERS;
  if (surplus <= 0) return all;
  const older = entries.slice(0, surplus + 1);
  const fields = uniteAll(older.map(parse));
  const { subresource: _, ...newest } = older.at(-1)!;
  const counted = new Set(older);
  const left = all.filter((entry) => !counted.has(entry));
  return [withFields({ ...newest, manager: OLDER_MANAGERS }, fields), ...left];
}

function smaller(entries: readonly ManagedFieldsEntry[]): readonly ManagedFieldsEntry[] {
  const size = (list: readonly ManagedFieldsEntry[]): number =>
    list.reduce((sum, { operation, fieldsV1 }) => sum + (operation === 'Apply' ? 0 : (fieldsV1?.Raw?.length ?? 0)), 0);
  if (size(entries) <= MAX_BYTES) return entries;
  for (const depth of DEPTHS) {
    const coarser = entries.map((entry) =>
      entry.operation === 'Apply' ? entry : withFields(entry, coarsen(parse(entry), depth)),
    );
    if (size(coarser) <= MAX_BYTES || depth === 1) return coarser;
  }
  return entries;
}

/**
 * The subresource that a verb is recorded as ("patch-status": "status"); undefined for verbs that are not recorded, as
 * binding and deleting, or whose entries stand in the next version already, as of an apply.
 */
function subresourceOf(verb: string): string | undefined {
  return /^(?:update|patch)(?:-(.+))?$/.exec(verb)?.[1] ?? (verb === 'update' || verb === 'patch' ? '' : undefined);
}

/** The entries of the next version of an object, after a write by a verb; undefined when there are none. */
export function entriesAfter(
  kind: Kind,
  versions: { readonly previous: AnyObject; readonly next: AnyObject },
  { verb, manager, now }: { readonly verb: string; readonly manager: string; readonly now: Date },
): ManagedFieldsEntry[] | undefined {
  const entries = versions.next.metadata?.managedFields;
  const subresource = subresourceOf(verb);
  if (subresource === undefined || !recordsManagers(kind)) return entries;
  const after = recordFields(kind, entries ?? [], versions, { manager, subresource, time: secondsTimestamp(now) });
  return after.length > 0 ? [...after] : undefined;
}

/** The entries that an update starts from: those that the client wrote, or else those of the object. */
export function keepManagers(next: AnyObject, previous: AnyObject): void {
  const { managedFields: written, ...metadata } = next.metadata ?? {};
  const entries = sentManagers({ ...(written && { managedFields: written }) }, previous.metadata ?? {});
  next.metadata = entries ? { ...metadata, managedFields: entries } : metadata;
}

/**
 * What a client makes of the entries: it may write them, as kubectl does to move fields from one manager to another,
 * and clear them. A list that it leaves out or empties says nothing.
 */
export function sentManagers(sent: ObjectMeta, previous: ObjectMeta): ManagedFieldsEntry[] | undefined {
  const { managedFields: before } = previous;
  if (clearsManagers(sent)) return undefined;
  const written = sent.managedFields ?? [];
  return written.length === 0 || equalValues(written, before) ? before : written;
}

/** Every rule that entries of a client break. */
export function validateManagers(sent: ObjectMeta, previous: ObjectMeta): FieldViolation[] {
  const written = sentManagers(sent, previous);
  if (!written || written === previous.managedFields) return [];
  const at = 'metadata.managedFields';
  if (written.length > MAX_WRITTEN) return [invalidSize(at, MAX_WRITTEN, 'entries')];
  const bytes = written.reduce((sum, { fieldsV1 }) => sum + (fieldsV1?.Raw?.length ?? 0), 0);
  if (bytes > MAX_APPLIED_BYTES) return [invalidSize(at, MAX_APPLIED_BYTES, 'bytes of all managers')];
  return written.flatMap((entry, i) => validateEntry(entry, `${at}[${i}]`));
}

function validateEntry({ manager = '', operation, fieldsType, fieldsV1 }: ManagedFieldsEntry, at: string): FieldViolation[] {
  const found: FieldViolation[] = [];
  if (operation !== 'Apply' && operation !== 'Update')
    found.push(notSupported(`${at}.operation`, operation, ['Apply', 'Update']));
  if (fieldsType !== 'FieldsV1') found.push(notSupported(`${at}.fieldsType`, fieldsType, ['FieldsV1']));
  if ([...manager].length > 128) found.push(tooLong(`${at}.manager`, 128, 'characters'));
  if (operation === 'Apply' && !manager) found.push(required(`${at}.manager`, 'a manager that applies has a name'));
  if (operation === 'Apply' && !fieldsV1) found.push(required(`${at}.fieldsV1`, 'it says which fields are applied'));
  const wrong = fieldsV1 && wrongStep(parseFields(fieldsV1));
  if (wrong !== undefined)
    found.push(
      invalidValue(`${at}.fieldsV1`, wrong, 'expected ".", "f:NAME", "k:{...}", "v:VALUE" or "i:INDEX", each with an object'),
    );
  return found;
}

/** The first step of a set that is none of FieldsV1. */
function wrongStep(fields: unknown): string | undefined {
  if (!isJsonObject(fields)) return '';
  for (const [step, below] of Object.entries(fields)) {
    if (step !== SELF && !isStep(step)) return step;
    const wrong = wrongStep(below);
    if (wrong !== undefined) return wrong === '' ? step : wrong;
  }
  return undefined;
}

function isStep(step: string): boolean {
  const text = step.slice(2);
  if (step.startsWith('f:')) return true;
  if (step.startsWith('i:')) return /^\d+$/.test(text);
  if (!step.startsWith('k:') && !step.startsWith('v:')) return false;
  try {
    return isJsonObject(JSON.parse(text)) || step.startsWith('v:');
  } catch {
    return false;
  }
}

function parseFields({ Raw }: NonNullable<ManagedFieldsEntry['fieldsV1']>): unknown {
  try {
    return JSON.parse(Buffer.from(Raw ?? []).toString('utf8'));
  } catch {
    return undefined;
  }
}
