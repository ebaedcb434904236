import { toJson } from '../../api/codec/json.ts';
import { encodeMessage } from '../../api/codec/message.ts';
import { field } from '../../api/codec/wire-format.ts';
import { badRequest } from '../../api/errors/index.ts';
import type { Table, TableRow } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { KindStore } from '../registry/kind-store.ts';
import { asServed, servedKind } from '../registry/store-version.ts';
import { type Entry, EntryDecoder, sizeOfEntry } from '../watch/entry.ts';
import { type EventFormat, protobufEvents } from '../watch/event-format.ts';
import { metadataBytes } from '../watch/stamp-resource-version.ts';

/** ObjectResponse.object, and the metadata of every object. */
const OBJECT = 1;
const METADATA = 1;

export type Format = 'protobuf' | 'json' | 'table';
/** How one object is answered: `metadata` is protobuf with nothing but the metadata, for writers that know the rest. */
export type ObjectFormat = Format | 'metadata';

/** How the answer is wanted; `fallback` when the request does not say. Throws INVALID_ARGUMENT. */
export function parseFormat(text: string | undefined, fallback: Format): Format {
  if (!text) return fallback;
  if (text === 'protobuf' || text === 'json' || text === 'table') return text;
  throw badRequest(`"${text}" is not a format: use "protobuf", "json" or "table"`);
}

/** The same for an answer with one object. */
export function parseObjectFormat(text: string | undefined, fallback: Format): ObjectFormat {
  return text === 'metadata' ? text : parseFormat(text, fallback);
}

export function encodeJson(kind: Kind, object: object): Buffer {
  return Buffer.from(JSON.stringify(toJson(kind, object)));
}

/** An object in the version of a kind. */
export function encodeAs(kind: Kind, format: 'protobuf' | 'json', object: object): Buffer {
  return format === 'json' ? encodeJson(kind, object) : encodeMessage(kind.message, object);
}

export function tableColumns(kind: Kind): NonNullable<Table['columns']> {
  return kind.columns.map(({ name, type, priority }) => ({ name, type, priority }));
}

export function tableRow(decoder: EntryDecoder, entry: Entry, now: Date): TableRow {
  const object = decoder.decode(entry);
  const { name, namespace, uid, labels, resourceVersion } = object.metadata ?? {};
  return {
    cells: decoder.kind.columns.map((column) => column.cell(object, now)),
    ...(name ? { name } : {}),
    ...(namespace ? { namespace } : {}),
    ...(uid ? { uid } : {}),
    ...(labels ? { labels } : {}),
    ...(resourceVersion ? { resourceVersion } : {}),
  };
}

/** Enough for watchers that begin together or have different selections; those of one selection share whole frames. */
const MOST_JSON_BYTES = 8 * 1024 * 1024;

/** The JSON of the objects of one kind that were encoded last. */
class JsonMemo {
  readonly #decoder: EntryDecoder;
  readonly #known = new Map<Entry, Buffer>();
  #bytes = 0;

  constructor(decoder: EntryDecoder) {
    this.#decoder = decoder;
  }

  encode(entry: Entry): Buffer {
    const known = this.#known.get(entry);
    if (known) return known;
    const json = encodeJson(this.#decoder.kind, this.#decoder.decode(entry));
    this.#known.set(entry, json);
    this.#bytes += sizeOfEntry(entry) + json.length;
    for (const [oldest, { length }] of this.#known) {
      if (this.#bytes <= MOST_JSON_BYTES) break;
      this.#known.delete(oldest);
      this.#bytes -= sizeOfEntry(oldest) + length;
    }
    return json;
  }
}

/**
 * JSON made for one watcher serves the others of its kind. Only their formats hold it, so that it goes with the last of
 * them.
 */
const jsonMemos = new WeakMap<EntryDecoder, WeakRef<JsonMemo>>();

function jsonMemo(decoder: EntryDecoder): JsonMemo {
  const known = jsonMemos.get(decoder)?.deref();
  if (known) return known;
  const memo = new JsonMemo(decoder);
  jsonMemos.set(decoder, new WeakRef(memo));
  return memo;
}

function jsonEvents(decoder: EntryDecoder): EventFormat {
  const memo = jsonMemo(decoder);
  return {
    id: 'json',
    field: 2,
    hasHeading: false,
    encode: (entry) => memo.encode(entry),
    bookmark: (metadata) => encodeJson(decoder.kind, { metadata }),
  };
}

function tableEvents(decoder: EntryDecoder, now: () => Date): EventFormat {
  const encode = (table: Table): Buffer => encodeMessage('berth.meta.v1.Table', table);
  return {
    id: 'table',
    field: 3,
    hasHeading: true,
    encode: (entry, first) =>
      encode({ ...(first ? { columns: tableColumns(decoder.kind) } : {}), rows: [tableRow(decoder, entry, now())] }),
    bookmark: ({ resourceVersion }) => encode({ rows: [{ resourceVersion }] }),
  };
}

/** Events in another version than the stored one; made once for the watchers of one selection, which share frames. */
function servedEvents(store: KindStore, format: 'protobuf' | 'json'): EventFormat {
  const kind = servedKind(store);
  return {
    id: `${format} ${kind.apiVersion}`,
    field: 2,
    hasHeading: false,
    encode: (entry) => encodeAs(kind, format, asServed(store, store.cache.decoder.decode(entry))),
    bookmark: (metadata) => encodeAs(kind, format, { metadata }),
  };
}

/** The events of a watch in the requested format. */
export function eventFormat(format: Format, store: KindStore, now: () => Date): EventFormat {
  const { decoder } = store.cache;
  if (store.served && format !== 'table') return servedEvents(store, format);
  if (format === 'json') return jsonEvents(decoder);
  return format === 'table' ? tableEvents(decoder, now) : protobufEvents(decoder.kind.message);
}

/** How an answer with one object is sent, other than as it is stored. */
export interface ObjectForm {
  /** `isRemoved`: the object was deleted, and is gone. */
  encode(kind: Kind, bytes: Buffer, isRemoved?: boolean): Buffer;
}

/** An ObjectResponse in the requested format; the ages of a table count up to `now`. */
export function objectForm(format: ObjectFormat, now: () => Date): ObjectForm {
  if (format === 'protobuf') return storedResponse;
  if (format === 'metadata') return metadataResponse;
  return { encode: (kind, bytes) => encodeDecoded(kind, bytes, format, now()) };
}

const storedResponse: ObjectForm = { encode: (_, bytes) => field(OBJECT, bytes) };
const metadataResponse: ObjectForm = { encode: (_, bytes) => field(OBJECT, field(METADATA, metadataBytes(bytes))) };

function encodeDecoded(kind: Kind, bytes: Buffer, format: 'json' | 'table', now: Date): Buffer {
  const decoder = new EntryDecoder(kind);
  const entry: Entry = { key: '', bytes, revision: 0 };
  if (format === 'json') return field(OBJECT, encodeJson(kind, decoder.decode(entry)));
  const table = { columns: tableColumns(kind), rows: [tableRow(decoder, entry, now)] };
  return encodeMessage('berth.meta.v1.ObjectResponse', { table });
}
