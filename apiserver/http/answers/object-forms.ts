import { spellOut, speltJson, writeSpeltJson } from '../../../api/apply/creator-fields.ts';
import { messageToJson, toJson } from '../../../api/codec/json.ts';
import { writeJson } from '../../../api/codec/json-bytes.ts';
import type { JsonOutput } from '../../../api/codec/json-output.ts';
import { decodeMessage } from '../../../api/codec/message.ts';
import type { ListMeta } from '../../../api/generated/types.ts';
import { formatAge } from '../../../api/kinds/cells.ts';
import { isCustom } from '../../../api/kinds/custom/custom-kind.ts';
import type { ApiObject, Kind } from '../../../api/kinds/kind.ts';
import type { JsonObject } from '../../../api/meta/merge-patch.ts';
import type { KindStore } from '../../registry/kind-store.ts';
import { asServed, servedKind } from '../../registry/store-version.ts';
import type { ObjectForm } from '../../verbs/object-format.ts';
import type { Entry } from '../../watch/entry.ts';
import type { BookmarkMetadata } from '../../watch/event-format.ts';
import { metadataBytes } from '../../watch/stamp-resource-version.ts';
import type { StatusObject } from '../errors/status-object.ts';
import { columnDescription } from './column-descriptions.ts';

/** What of an object a table shows beside its cells. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

/**
 * How single objects are written, in lists and events too. Beside the cells of a table the entry of an object's creator
 * stays as it is stored, elsewhere its fields are spelt out.
 */
export interface ItemForm {
  /** What the JSON of a list says before its items, and what is named there as `items`. */
  listHead(store: KindStore, metadata: ListMeta): JsonObject;
  readonly items: 'items' | 'rows';
  /** Writes an item of a list. */
  writeItem(store: KindStore, entry: Entry, out: JsonOutput): void;
  /** An object as an answer or an event of its own; `first` of a stream has what others leave out. */
  alone(kind: Kind, object: ApiObject, first: boolean): JsonObject;
  /** An object of which only the metadata says something: clients decode it as they do the objects of other events. */
  bookmark(store: KindStore, metadata: BookmarkMetadata): JsonObject;
  /** Whether objects are shown in the version that was asked for; tables show what is stored. */
  readonly isOfServed: boolean;
}

/** Objects as they are. */
export const wholeObjects: ItemForm = {
  items: 'items',
  isOfServed: true,
  listHead(store, metadata) {
    const { kind, apiVersion } = servedKind(store);
    return { kind: `${kind}List`, apiVersion, metadata: metaOf(metadata) };
  },
  writeItem(store, entry, out) {
    // As in Kubernetes, items of its own kinds leave out what the list says.
    if (!store.served) writeSpeltJson(store.kind, entry.bytes, out, !isCustom(store.kind));
    else out.json(JSON.stringify(toJson(servedKind(store), shownIn(this, store, entry))));
  },
  alone: (kind, object) => toJson(kind, object),
  bookmark(store, { ...metadata }) {
    const { kind, apiVersion } = servedKind(store);
    return { kind, apiVersion, metadata };
  },
};

/** Objects without anything but their metadata, of a version of meta.k8s.io. */
export const partialObjects = (apiVersion: string): ItemForm => ({
  items: 'items',
  isOfServed: false,
  listHead: (_, metadata) => ({ kind: 'PartialObjectMetadataList', apiVersion, metadata: metaOf(metadata) }),
  writeItem: ({ kind }, { bytes }, out) => writePartial(apiVersion, spellOut(kind, bytes), out),
  alone: (_, object) => partialOf(apiVersion, object),
  bookmark: (_, metadata) => partialOf(apiVersion, { metadata }),
});

const objectMeta = { kind: '', apiVersion: '', message: 'berth.meta.v1.ObjectMeta' };

/** The same as partialOf, straight from the bytes. */
function writePartial(apiVersion: string, bytes: Uint8Array, out: JsonOutput): void {
  out.ascii(`{"kind":"PartialObjectMetadata","apiVersion":"${apiVersion}","metadata":`);
  writeJson(objectMeta, metadataBytes(bytes), out, true);
  out.put(END);
}

/** "}" */
const END = 0x7d;

/** Rows of a table of a version of meta.k8s.io; ages count up to `now`. */
export function tableRows(apiVersion: string, include: IncludeObject, now: () => Date): ItemForm {
  const cellsOf = ({ columns }: Kind, object: ApiObject): (string | number)[] => {
    const at = now();
    return columns.map(({ type, cell }) => cellOf(type, cell(object, at), at));
  };
  const rowOf = (kind: Kind, object: ApiObject): JsonObject => {
    const cells = cellsOf(kind, object);
    if (include === 'None') return { cells, object: null };
    return { cells, object: include === 'Object' ? toJson(kind, object) : partialOf(apiVersion, object) };
  };
  return {
    items: 'rows',
    isOfServed: false,
    listHead: ({ kind }, metadata) => tableHead(apiVersion, kind, metaOf(metadata), true),
    writeItem(store, entry, out) {
      // Not remembered: of a list of many the cells are all that is needed.
      out.json(
        `{"cells":${JSON.stringify(cellsOf(store.kind, decodeMessage<ApiObject>(store.kind.message, entry.bytes)))},"object":`,
      );
      if (include === 'None') out.ascii('null');
      else if (include === 'Object') writeJson(store.kind, entry.bytes, out);
      else writePartial(apiVersion, entry.bytes, out);
      out.put(END);
    },
    alone(kind, object, first) {
      const { resourceVersion = '' } = object.metadata ?? {};
      return { ...tableHead(apiVersion, kind, { resourceVersion }, first), rows: [rowOf(kind, object)] };
    },
    bookmark({ kind }, metadata) {
      // A row of an object without a name, as in Kubernetes: a bookmark may have annotations, and a table has none.
      const cells = kind.columns.map(({ type }) => (type === 'integer' ? 0 : ''));
      const row = { cells, object: include === 'None' ? null : partialOf(apiVersion, { metadata }) };
      return { ...tableHead(apiVersion, kind, { resourceVersion: metadata.resourceVersion }, false), rows: [row] };
    },
  };
}

/** An object of an event as JSON. */
export function eventBytes(form: ItemForm, store: KindStore, entry: Entry, first: boolean): Buffer {
  if (form === wholeObjects && !store.served) return speltJson(store.kind, entry.bytes);
  const kind = form.isOfServed ? servedKind(store) : store.kind;
  return Buffer.from(JSON.stringify(form.alone(kind, shownIn(form, store, entry), first)));
}

/** An object of the cache as a form shows it. */
export function shownIn(form: ItemForm, store: KindStore, entry: Entry): ApiObject {
  const object = form.items === 'rows' ? store.cache.decoder.decode(entry) : speltOut(store.kind, entry.bytes);
  return form.isOfServed ? asServed(store, object) : object;
}

const speltOut = (kind: Kind, bytes: Uint8Array): ApiObject => decodeMessage(kind.message, spellOut(kind, bytes));

const metaOf = (metadata: ListMeta): JsonObject => messageToJson('berth.meta.v1.ListMeta', metadata);

function partialOf(apiVersion: string, { metadata = {} }: ApiObject): JsonObject {
  return {
    kind: 'PartialObjectMetadata',
    apiVersion,
    metadata: messageToJson('berth.meta.v1.ObjectMeta', metadata),
  };
}

function tableHead(apiVersion: string, kind: Kind, metadata: JsonObject, withColumns: boolean): JsonObject {
  const described = isCustom(kind) ? () => '' : columnDescription;
  const columnDefinitions = kind.columns.map(({ name, type, priority, description = described(name), format = '' }, index) => ({
    name: titled(name),
    type: type === 'integer' ? 'integer' : 'string',
    format: index === 0 ? 'name' : format,
    description,
    priority,
  }));
  return { kind: 'Table', apiVersion, metadata, columnDefinitions: withColumns ? columnDefinitions : null };
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

/** How an answer is written: an object, or a Status in its place. */
export interface AnswerForm extends ObjectForm {
  status(status: StatusObject): Buffer;
}

/** An answer of one object. */
export function answerAs(form: ItemForm, write: (json: object) => Buffer): AnswerForm {
  return {
    encode: (kind, bytes) => write(form.alone(kind, speltOut(kind, bytes), true)),
    status: (status) => write(status),
  };
}

/** An answer of one object as it is, as JSON. */
export const jsonAnswer: AnswerForm = {
  encode: speltJson,
  status: (status) => Buffer.from(JSON.stringify(status)),
};
