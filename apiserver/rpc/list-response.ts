import { encodeMessage } from '../../api/codec/message.ts';
import type { ListMeta } from '../../api/generated/types.ts';
import type { ListPage } from '../registry/list.ts';
import { fieldSize, writeFieldHeader } from '../watch/wire.ts';

const METADATA = 1;
const ITEMS = 2;

/** A page of stored objects as they are. */
export function encodePage({ metadata, items }: ListPage): Buffer {
  return encodeList(
    metadata,
    items.map((entry) => entry.bytes),
  );
}

/** A list of any kind, `{metadata = 1, items = 2}`, assembled from encoded objects with one copy and no decoding. */
export function encodeList(metadata: ListMeta, items: readonly Uint8Array[]): Buffer {
  const meta = encodeMessage('berth.meta.v1.ListMeta', metadata);
  let size = fieldSize(meta.length);
  for (const item of items) size += fieldSize(item.length);
  const out = Buffer.allocUnsafeSlow(size);
  let at = writeFieldHeader(out, 0, METADATA, meta.length);
  out.set(meta, at);
  at += meta.length;
  for (const item of items) {
    at = writeFieldHeader(out, at, ITEMS, item.length);
    out.set(item, at);
    at += item.length;
  }
  return out;
}
