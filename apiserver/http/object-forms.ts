import { messageToJson, toJson } from '../../api/codec/json.ts';
import type { ListMeta } from '../../api/generated/types.ts';
import { formatAge } from '../../api/kinds/cells.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import type { ObjectForm } from '../verbs/object-format.ts';
import { type Entry, EntryDecoder } from '../watch/entry.ts';
import { envelope } from './kubernetes-protobuf.ts';

/** What of an object a table shows beside its cells. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

/** How single objects are written, in lists and events too. */
export interface ItemForm {
  /** What the JSON of a list says before its items, and what is named there as `items`. */
  listHead(kind: Kind, metadata: ListMeta): JsonObject;
  readonly items: 'items' | 'rows';
  item(decoder: EntryDecoder, entry: Entry): Buffer;
  /** The same as an answer of its own; `first` of a stream has what others leave out. */
  alone(decoder: EntryDecoder, entry: Entry, first: boolean): Buffer;
}

const META = 'meta.k8s.io/v1';
const bytesOf = (json: JsonObject): Buffer => Buffer.from(JSON.stringify(json));

/** Objects as they are. */
export const wholeObjects: ItemForm = {
  items: 'items',
  listHead: (kind, metadata) => ({ kind: `${kind.kind}List`, apiVersion: kind.apiVersion, metadata: metaOf(metadata) }),
  item: (decoder, entry) => bytesOf(toJson(decoder.kind, decoder.decode(entry))),
  alone: (decoder, entry) => wholeObjects.item(decoder, entry),
};

/** Objects without anything but their metadata. */
export const partialObjects: ItemForm = {
  items: 'items',
  listHead: (_, metadata) => ({ kind: 'PartialObjectMetadataList', apiVersion: META, metadata: metaOf(metadata) }),
  item: (decoder, entry) => bytesOf(partialOf(decoder.decode(entry))),
  alone: (decoder, entry) => partialObjects.item(decoder, entry),
};

/** Rows of a table; ages count up to `now`. */
export function tableRows(include: IncludeObject, now: () => Date): ItemForm {
  const rowOf = (decoder: EntryDecoder, entry: Entry): JsonObject => {
    const object = decoder.decode(entry);
    const { kind } = decoder;
    const at = now();
    const cells = kind.columns.map(({ type, cell }) => cellOf(type, cell(object, at), at));
    if (include === 'None') return { cells, object: null };
    return { cells, object: include === 'Object' ? toJson(kind, object) : partialOf(object) };
  };
  return {
    items: 'rows',
    listHead: (kind, metadata) => tableHead(kind, metaOf(metadata), true),
    item: (decoder, entry) => bytesOf(rowOf(decoder, entry)),
    alone(decoder, entry, first) {
      const row = rowOf(decoder, entry);
      const { resourceVersion = '' } = decoder.decode(entry).metadata ?? {};
      return bytesOf({ ...tableHead(decoder.kind, { resourceVersion }, first), rows: [row] });
    },
  };
}

const metaOf = (metadata: ListMeta): JsonObject => messageToJson('berth.meta.v1.ListMeta', metadata);

function partialOf({ metadata = {} }: ApiObject): JsonObject {
  return {
    kind: 'PartialObjectMetadata',
    apiVersion: META,
    metadata: messageToJson('berth.meta.v1.ObjectMeta', metadata),
  };
}

function tableHead({ columns }: Kind, metadata: JsonObject, withColumns: boolean): JsonObject {
  const columnDefinitions = columns.map(({ name, type, priority }, index) => ({
    name: titled(name),
    type: type === 'integer' ? 'integer' : 'string',
    format: index === 0 ? 'name' : '',
    description: '',
    priority,
  }));
  return { kind: 'Table', apiVersion: META, metadata, columnDefinitions: withColumns ? columnDefinitions : null };
}

/** "NOMINATED NODE" as Kubernetes writes it: "Nominated Node". */
const titled = (name: string): string =>
  name.toLowerCase().replace(/(^|[ -])([a-z])/g, (_, before: string, letter: string) => before + letter.toUpperCase());

function cellOf(type: Kind['columns'][number]['type'], text: string, now: Date): string | number {
  if (type === 'integer') return /^-?\d+$/.test(text) ? Number(text) : text;
  if (type !== 'date') return text;
  const time = Date.parse(text);
  return Number.isNaN(time) ? text : formatAge(now.getTime() - time);
}

/** An answer of one object, as JSON. */
export function jsonAnswer(form: ItemForm): ObjectForm {
  return { encode: (kind, bytes) => form.alone(new EntryDecoder(kind), { key: '', bytes, revision: 0 }, true) };
}

/** An answer of one object as Kubernetes' protobuf: the stored bytes in their envelope. */
export const protobufAnswer: ObjectForm = { encode: (kind, bytes) => envelope(kind, bytes) };
