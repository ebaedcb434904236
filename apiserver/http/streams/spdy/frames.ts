import { uint32 } from './header-blocks.ts';

export const frameTypes = {
  open: 1,
  reply: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;

/** The sender's last frame of the stream. */
export const LAST = 1;
const VERSION = 3;

/** Why a stream is reset. */
export const resetReasons = { protocolError: 1, refused: 3, cancelled: 5 } as const;
/** Why a connection ends. */
export const goAwayReasons = { ok: 0, protocolError: 1 } as const;

/** A frame of the connection or of the life of a stream. */
export function controlFrame(type: number, flags: number, ...body: Buffer[]): Buffer {
  const length = body.reduce((sum, { length }) => sum + length, 0);
  const head = Buffer.alloc(8);
  head.writeUInt16BE(0x8000 | VERSION);
  head.writeUInt16BE(type, 2);
  head.writeUInt8(flags, 4);
  head.writeUIntBE(length, 5, 3);
  return Buffer.concat([head, ...body]);
}

export function dataFrame(stream: number, bytes: Uint8Array, isLast = false): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(stream);
  head.writeUInt8(isLast ? LAST : 0, 4);
  head.writeUIntBE(bytes.length, 5, 3);
  return Buffer.concat([head, bytes]);
}

export const replyFrame = (stream: number, headers: Buffer): Buffer => controlFrame(frameTypes.reply, 0, uint32(stream), headers);
export const resetFrame = (stream: number, reason: number): Buffer =>
  controlFrame(frameTypes.reset, 0, uint32(stream), uint32(reason));
export const pingFrame = (id: number): Buffer => controlFrame(frameTypes.ping, 0, uint32(id));
export const goAwayFrame = (lastStream: number, reason: number): Buffer =>
  controlFrame(frameTypes.goAway, 0, uint32(lastStream), uint32(reason));

/** With the slot and the priority of SPDY/3, which nothing uses here. */
export const openFrame = (stream: number, headers: Buffer, isLast = false): Buffer =>
  controlFrame(frameTypes.open, isLast ? LAST : 0, uint32(stream), uint32(0), Buffer.alloc(2), headers);
