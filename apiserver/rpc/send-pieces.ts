import type { ServerHttp2Stream } from 'node:http2';
import { Metadata, type ServerUnaryCall } from '@grpc/grpc-js';
import type { Pieces } from '../verbs/pieces.ts';
import { http2StreamOf } from './caller.ts';

/** With more than this on its way nothing is made: one piece leaves while the next is made. */
const AHEAD_BYTES = 96 * 1024;

/**
 * Sends a message in pieces, each made when the one before has left or fits behind it; true when all are on their way,
 * false where there is no stream to send them on. The library knows messages as a whole only, and copies them; it still
 * ends the call.
 */
export async function sendPieces(call: ServerUnaryCall<Buffer, Buffer>, pieces: Pieces): Promise<boolean> {
  const stream = http2StreamOf(call);
  if (!stream) return false;
  call.sendMetadata(new Metadata());
  const head = Buffer.alloc(5);
  head.writeUInt32BE(pieces.length, 1);
  stream.write(head);
  for (const piece of pieces.make()) {
    if (!stream.writable) break;
    if (!stream.write(piece) && stream.writableLength > AHEAD_BYTES) await drained(stream);
  }
  return true;
}

/** Also when the client goes. */
function drained(stream: ServerHttp2Stream): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.removeListener('drain', done);
      stream.removeListener('close', done);
      resolve();
    };
    stream.on('drain', done);
    stream.on('close', done);
    if (stream.destroyed) done();
  });
}
