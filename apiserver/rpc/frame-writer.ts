import { Metadata, type ServerWritableStream } from '@grpc/grpc-js';
import { FRAME_HEADER_BYTES } from '../watch/event-frame.ts';
import { http2StreamOf } from './caller.ts';

/**
 * Sends whole gRPC frames on a stream; `written` is called when the bytes have left this process. The library would copy every message behind a
 * header of its own, once for each watcher, and pass it through a second stream; so frames go straight to the HTTP/2 stream below it, where
 * the same bytes serve all. The library still ends the stream. Where that stream is missing, the library sends the message.
 */
export function frameWriter(call: ServerWritableStream<Buffer, Buffer>): (frame: Buffer, written: () => void) => void {
  const stream = http2StreamOf(call);
  if (!stream) return (frame, written) => void call.write(frame.subarray(FRAME_HEADER_BYTES), written);
  call.sendMetadata(new Metadata());
  return (frame, written) => {
    // A client that is gone takes nothing: its call ends by itself.
    if (stream.writable) stream.write(frame, (error) => error ?? written());
  };
}
