import { encodeMessage } from '../../api/codec/message.ts';
import type { KindStore } from '../registry/kind-store.ts';
import { type ListPage, MAX_PAGE_BYTES } from '../registry/reads/list.ts';
import { asServed, servedKind } from '../registry/store-version.ts';
import type { Entry } from '../watch/entry.ts';
import { listPieces, PIECES_IN_FLIGHT_BYTES } from './list-response.ts';
import { encodeAs, type Format, tableColumns, tableRow } from './object-format.ts';
import type { Pieces } from './pieces.ts';

/** How a page is sent. */
export interface ListForm {
  /** How large an object is in this form; absent: as it is stored. */
  readonly sizeOf?: (entry: Entry) => number;
  /** A page ends before it is larger than this; absent: at MAX_PAGE_BYTES. */
  readonly pageBytes?: number;
  /** What one page takes of memory at most, besides the stored objects. */
  readonly mostBytes: number;
  encode(page: ListPage): Buffer | Pieces;
}

/** As objects are stored. */
export const storedForm: ListForm = {
  mostBytes: PIECES_IN_FLIGHT_BYTES,
  encode: ({ metadata, items }) =>
    listPieces(
      metadata,
      items.map((entry) => entry.bytes),
    ),
};

/** The list form of a request, for one page. */
export function listForm(store: KindStore, format: Format, now: Date): ListForm {
  if (format === 'protobuf' && !store.served) return storedForm;
  if (format !== 'table') return madeForm(store, format);
  return { mostBytes: MAX_PAGE_BYTES, encode: (page) => encodeTable(store, page, now) };
}

/** JSON may be several times as large as what is stored, so it is made while the page is filled. */
function madeForm(store: KindStore, format: 'protobuf' | 'json'): ListForm {
  const kind = servedKind(store);
  const made = new Map<Entry, Buffer>();
  return {
    mostBytes: MAX_PAGE_BYTES,
    sizeOf(entry) {
      const bytes = encodeAs(kind, format, asServed(store, store.cache.decoder.decode(entry)));
      made.set(entry, bytes);
      return bytes.length;
    },
    encode: ({ metadata, items }) =>
      listPieces(
        metadata,
        items.map((entry) => made.get(entry)!),
      ),
  };
}

function encodeTable(store: KindStore, { metadata, items }: ListPage, now: Date): Buffer {
  const rows = items.map((entry) => tableRow(store.cache.decoder, entry, now));
  return encodeMessage('berth.meta.v1.ObjectListResponse', { metadata, table: { columns: tableColumns(store.kind), rows } });
}
