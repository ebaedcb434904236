import { messageType } from '../codec/descriptors.ts';
import { partWriter, type SetWriter, setWriterOf } from '../codec/field-set-bytes.ts';
import { messageFromJson, toJson } from '../codec/json.ts';
import { writeJson, writePlainJson } from '../codec/json-bytes.ts';
import { JsonCopy, NotPlain, notPlain } from '../codec/json-copy.ts';
import { type JsonOutput, writtenBytes } from '../codec/json-output.ts';
import { decodeMessage, encodeMessage } from '../codec/message.ts';
import { typeOfMessage } from '../codec/message-type.ts';
import { isOpen } from '../codec/open-message.ts';
import { field, LENGTH_DELIMITED, varintSize, writeVarint } from '../codec/wire-format.ts';
import { WireReader } from '../codec/wire-reader.ts';
import type { ManagedFieldsEntry } from '../generated/types.ts';
import type { ApiObject, Kind } from '../kinds/kind.ts';
import { type FieldSet, isEmptySet, uniteAll } from '../meta/field-set.ts';
import { difference } from './field-sets.ts';
import { fieldsOf } from './fields-of.ts';
import { managedMetadata, managedPart, withCreatorFields } from './managers.ts';

// The entry of an object's creator has no set of fields, and means all that no other entry names. Here it is given its
// set: for a reader who looks into it.

/** What of a kind is needed. */
export type SpeltKind = Pick<Kind, 'kind' | 'apiVersion' | 'message' | 'hasStatus' | 'fieldType'>;

const METADATA = 1;
const MANAGED_FIELDS = 17;
const [FIELDS, RAW] = [7, 1];
const [VERSION, SUBRESOURCE] = [3, 8];

/** The one entry without a set, and what the others name. */
interface Found {
  readonly metadata: Span;
  readonly entry: Span;
  readonly taken: FieldSet | undefined;
}

/** Of a field: where its tag and its value begin, and where it ends. */
interface Span {
  readonly tag: number;
  readonly start: number;
  readonly end: number;
}

/**
 * An encoded object in which the entry of its creator says which fields it owns; the same bytes where there is no such
 * entry.
 */
export function spellOut(kind: SpeltKind, bytes: Uint8Array): Uint8Array {
  const found = findCreator(kind, bytes);
  if (found === undefined) return bytes;
  const fields = found === 'several' ? undefined : (creatorFields(kind, bytes, found) ?? decodedFields(kind, bytes, found));
  if (found === 'several' || fields === undefined) return spellDecoded(kind, bytes);
  return withFields(bytes, found, fields);
}

/** The same object as JSON, with apiVersion and kind. */
export const speltJson = (kind: SpeltKind, bytes: Uint8Array): Buffer => writtenBytes((out) => writeSpeltJson(kind, bytes, out));

/** Writes the same behind what is there; `bare`: without apiVersion and kind. */
export function writeSpeltJson(kind: SpeltKind, bytes: Uint8Array, out: JsonOutput, bare = false): void {
  const found = findCreator(kind, bytes);
  if (found === undefined || found === 'several' || !isCompiled(kind)) {
    writeJson(kind, spellOut(kind, bytes), out, bare);
    return;
  }
  const start = out.size;
  const write = (input: JsonCopy): void => {
    const { at } = input;
    out.ascii('"fieldsV1":');
    if (!writeFields(kind, input, out, found)) notPlain();
    out.comma();
    input.at = at;
  };
  try {
    writePlainJson(kind, new JsonCopy(bytes, out, { end: found.entry.end, write }), out, bare);
  } catch (error) {
    if (!(error instanceof NotPlain)) throw error;
    out.rewind(start);
    writeJson(kind, spellOut(kind, bytes), out, bare);
  }
}

/** The same by way of the decoded object. */
function spellDecoded(kind: SpeltKind, bytes: Uint8Array): Uint8Array {
  const object = decodeMessage<ApiObject>(kind.message, bytes);
  const managedFields = speltEntries(kind, object);
  return encodeMessage(kind.message, { ...object, metadata: { ...object.metadata, managedFields } });
}

/** The entries of an object with a set of fields in each. */
export function speltEntries(kind: SpeltKind, object: ApiObject): ManagedFieldsEntry[] {
  const type = kind.fieldType?.() ?? typeOfMessage(kind.message);
  const entries = withCreatorFields(type, toJson(kind, object), kind.hasStatus);
  return entries.map((entry) => messageFromJson<ManagedFieldsEntry>('berth.meta.v1.ManagedFieldsEntry', entry));
}

/** Undefined: there is nothing to spell out. */
function findCreator({ hasStatus, apiVersion }: SpeltKind, bytes: Uint8Array): Found | 'several' | undefined {
  const object = new WireReader(bytes);
  while (object.next()) if (object.number === METADATA) break;
  if (object.number !== METADATA) return undefined;
  const metadata = spanOf(object);
  const reader = object.inner();
  let entry: Span | undefined;
  const others: string[] = [];
  while (reader.next()) {
    if (reader.number !== MANAGED_FIELDS) continue;
    const { set, version } = readEntry(reader.inner(), hasStatus);
    if (set !== undefined) others.push(set);
    else if (entry) return 'several';
    // Its fields have the names of that version, which the object as it is here may not have.
    else if (version !== apiVersion) return undefined;
    else entry = spanOf(reader);
  }
  if (!entry) return undefined;
  return { metadata, entry, taken: others.some((set) => set !== '') ? uniteAll(others.map(parse)) : undefined };
}

const spanOf = ({ tagStart, valueStart, valueEnd }: WireReader): Span => ({ tag: tagStart, start: valueStart, end: valueEnd });

interface EntryRead {
  /** Its set; "" for one that names nothing but a status, undefined for an entry without a set. */
  readonly set: string | undefined;
  /** The version of the API that it was written in. */
  readonly version: string;
}

function readEntry(entry: WireReader, hasStatus: boolean): EntryRead {
  let [set, isOfStatus, version]: [Buffer | undefined, boolean, string] = [undefined, false, ''];
  while (entry.next()) {
    if (entry.number === VERSION) version = entry.value().toString();
    else if (entry.number === FIELDS) {
      const fields = entry.inner();
      set = fields.next() && fields.number === RAW ? (fields.value() as Buffer) : Buffer.alloc(0);
    } else if (entry.number === SUBRESOURCE) isOfStatus = entry.value().toString() === 'status';
  }
  if (set === undefined) return { set, version };
  // Which is no field of the creator's.
  const isStatusAlone =
    hasStatus && isOfStatus && set.toString('latin1', 0, STATUS.length) === STATUS && !set.includes('"f:metadata"');
  return { set: isStatusAlone ? '' : set.toString(), version };
}

const STATUS = '{"f:status":';

function parse(set: string): FieldSet {
  try {
    return set === '' ? {} : (JSON.parse(set) as FieldSet);
  } catch {
    return {};
  }
}

/** FieldsV1 of the creator; undefined where that is none, or the bytes have to be decoded for it. */
function creatorFields(kind: SpeltKind, bytes: Uint8Array, found: Found): Buffer | undefined {
  if (!isCompiled(kind)) return undefined;
  try {
    return writtenBytes((out) => {
      if (!writeFields(kind, new JsonCopy(bytes, out), out, found)) notPlain();
    });
  } catch (error) {
    if (error instanceof NotPlain) return undefined;
    throw error;
  }
}

/** Whether the fields of a kind are those of its message. */
const isCompiled = ({ message, fieldType }: SpeltKind): boolean => !isOpen(message) && !fieldType;

/** Writes FieldsV1 of the creator; false where that is none. Throws NotPlain for bytes that have to be decoded. */
function writeFields(kind: SpeltKind, input: JsonCopy, out: JsonOutput, { taken }: Found): boolean {
  input.at = 0;
  out.put(0x7b);
  const begin = out.size;
  writerOf(kind)(input, input.end, out, taken);
  const isEmpty = out.size === begin;
  out.close(0x7d);
  return !isEmpty;
}

/** The same of the decoded object, whose schema may be of users. */
function decodedFields(kind: SpeltKind, bytes: Uint8Array, { taken = {} }: Found): Buffer | undefined {
  const object = toJson(kind, decodeMessage<ApiObject>(kind.message, bytes));
  const type = kind.fieldType?.() ?? typeOfMessage(kind.message);
  const set = difference(fieldsOf(type, managedPart(object, '', kind.hasStatus)), taken);
  return isEmptySet(set) ? undefined : Buffer.from(JSON.stringify(set));
}

const known = new Map<string, SetWriter>();

/** The writer of what an object's creator may own: see managedPart. */
function writerOf({ message, hasStatus }: SpeltKind): SetWriter {
  let writer = known.get(message);
  if (!writer) {
    const metadata = setWriterOf(messageType('berth.meta.v1.ObjectMeta'), ({ name }) =>
      (managedMetadata as readonly string[]).includes(name) ? 'whole' : 'nothing',
    );
    writer = setWriterOf(messageType(message), ({ id, name }) =>
      id === METADATA ? partWriter('metadata', metadata) : name === 'status' && hasStatus ? 'nothing' : 'whole',
    );
    known.set(message, writer);
  }
  return writer;
}

/** The bytes with the set in the entry. */
function withFields(bytes: Uint8Array, { metadata, entry }: Found, set: Buffer): Uint8Array {
  const fields = field(FIELDS, field(RAW, set));
  const content = entry.end - entry.start + fields.length;
  const entryHead = head(MANAGED_FIELDS, content);
  const length = metadata.end - metadata.start + (entryHead.length - (entry.start - entry.tag)) + fields.length;
  const metadataHead = head(METADATA, length);
  const out = Buffer.allocUnsafe(metadata.tag + metadataHead.length + length + bytes.length - metadata.end);
  let size = 0;
  const copy = (from: Uint8Array, start = 0, end = from.length): void => {
    out.set(start === 0 && end === from.length ? from : from.subarray(start, end), size);
    size += end - start;
  };
  copy(bytes, 0, metadata.tag);
  copy(metadataHead);
  copy(bytes, metadata.start, entry.tag);
  copy(entryHead);
  copy(bytes, entry.start, entry.end);
  copy(fields);
  copy(bytes, entry.end);
  return out;
}

/** The tag and the length of a length-delimited field. */
function head(number: number, length: number): Uint8Array {
  const tag = number * 8 + LENGTH_DELIMITED;
  const out = Buffer.allocUnsafe(varintSize(tag) + varintSize(length));
  writeVarint(out, writeVarint(out, 0, tag), length);
  return out;
}
