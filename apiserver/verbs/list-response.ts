import { encodeMessage } from '../../api/codec/message.ts';
import { fieldSize, writeFieldHeader } from '../../api/codec/wire-format.ts';
import type { ListMeta } from '../../api/generated/types.ts';
import type { Pieces } from './pieces.ts';

const METADATA = 1;
const ITEMS = 2;
/** Small enough for the allocator to use the same room again and again, large enough to amortise a write. */
const PIECE_BYTES = 64 * 1024;
/** Tag and length of a field of less than 256 MiB. */
const MOST_HEADER_BYTES = 5;

/**
 * A list of any kind, `{metadata = 1, items = 2}`, assembled from encoded objects with one copy and no decoding, while
 * it is sent.
 */
export function listPieces(metadata: ListMeta, items: readonly Uint8Array[]): Pieces {
  const meta = encodeMessage('berth.meta.v1.ListMeta', metadata);
  let length = fieldSize(meta.length);
  for (const item of items) length += fieldSize(item.length);
  return { length, make: () => assemble(meta, items) };
}

function* assemble(metadata: Uint8Array, items: readonly Uint8Array[]): Generator<Uint8Array> {
  let out = Buffer.allocUnsafeSlow(PIECE_BYTES);
  let at = 0;
  for (let i = -1; i < items.length; i++) {
    const field = i < 0 ? metadata : items[i]!;
    if (at + MOST_HEADER_BYTES + field.length > PIECE_BYTES && at > 0) {
      yield out.subarray(0, at);
      out = Buffer.allocUnsafeSlow(PIECE_BYTES);
      at = 0;
    }
    at = writeFieldHeader(out, at, i < 0 ? METADATA : ITEMS, field.length);
    if (at + field.length <= PIECE_BYTES) {
      out.set(field, at);
      at += field.length;
      continue;
    }
    // Larger than a piece: it goes as it is, behind its header.
    yield out.subarray(0, at);
    yield field;
    out = Buffer.allocUnsafeSlow(PIECE_BYTES);
    at = 0;
  }
  if (at > 0) yield out.subarray(0, at);
}

/** What of a page is in memory besides the stored objects: the pieces on their way. */
export const PIECES_IN_FLIGHT_BYTES = 2 * PIECE_BYTES;
