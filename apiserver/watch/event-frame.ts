import { fieldSize, writeFieldHeader } from '../../api/codec/wire-format.ts';
import type { CacheEvent } from './event-ring.ts';

export type WireEventType = CacheEvent['type'] | 'BOOKMARK';

/** One event of a watch response: `type` is field 1, the object or the table stands behind it. */
export interface WireEvent {
  readonly type: WireEventType;
  /** 2 for an object, 3 for a table. */
  readonly field: 2 | 3;
  readonly bytes: Uint8Array;
}

/** What gRPC puts in front of a message: whether it is compressed (never), and its length in four bytes. */
export const FRAME_HEADER_BYTES = 5;

const EVENTS = 1;
const TYPE = 1;

const types: Readonly<Record<WireEventType, Buffer>> = {
  ADDED: Buffer.from('ADDED'),
  MODIFIED: Buffer.from('MODIFIED'),
  DELETED: Buffer.from('DELETED'),
  BOOKMARK: Buffer.from('BOOKMARK'),
};

function eventSize(event: WireEvent): number {
  return fieldSize(types[event.type].length) + fieldSize(event.bytes.length);
}

/**
 * A whole watch response of any kind as it goes out: the gRPC frame with its header, assembled from encoded objects
 * with one copy and no decoding, in a buffer of its own, so that any number of streams can send the same bytes.
 */
export function encodeFrame(events: readonly WireEvent[]): Buffer {
  let size = 0;
  for (const event of events) size += fieldSize(eventSize(event));
  const out = Buffer.allocUnsafeSlow(FRAME_HEADER_BYTES + size);
  out[0] = 0;
  let at = out.writeUInt32BE(size, 1);
  for (const event of events) {
    const type = types[event.type];
    at = writeFieldHeader(out, at, EVENTS, eventSize(event));
    at = writeFieldHeader(out, at, TYPE, type.length);
    out.set(type, at);
    at = writeFieldHeader(out, at + type.length, event.field, event.bytes.length);
    out.set(event.bytes, at);
    at += event.bytes.length;
  }
  return out;
}
