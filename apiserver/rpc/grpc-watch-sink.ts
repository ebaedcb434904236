import type { ServerHttp2Stream } from 'node:http2';
import { Metadata, type ServerWritableStream } from '@grpc/grpc-js';
import type { CallContext } from '../verbs/call-context.ts';
import type { WatchSink } from '../verbs/watch-sink.ts';
import { FRAME_HEADER_BYTES } from '../watch/event-frame.ts';
import { http2StreamOf, resetUnread } from './caller.ts';
import { requireAuthorized } from './fail-closed.ts';

/**
 * Sends the responses of a watch over gRPC, as whole frames. The library would copy every message behind a header of its
 * own, once for each watcher, and pass it through a second stream; so frames go straight to the HTTP/2 stream below it,
 * where the same bytes serve all. The library still ends the stream. Where that stream is missing, the library sends the
 * message.
 */
export class GrpcWatchSink implements WatchSink {
  readonly #call: ServerWritableStream<Buffer, Buffer>;
  readonly #context: Pick<CallContext, 'authorized'>;
  #stream: ServerHttp2Stream | undefined;

  constructor(call: ServerWritableStream<Buffer, Buffer>, context: Pick<CallContext, 'authorized'>) {
    this.#call = call;
    this.#context = context;
  }

  begin(): void {
    // Frames do not pass the guard of the call's own `write`.
    requireAuthorized(this.#context);
    this.#stream = http2StreamOf(this.#call);
    if (this.#stream) this.#call.sendMetadata(new Metadata());
  }

  send(frame: Buffer, taken: () => void): void {
    const stream = this.#stream;
    if (!stream) this.#call.write(frame.subarray(FRAME_HEADER_BYTES), taken);
    // A client that is gone takes nothing: its call ends by itself.
    else if (stream.writable) stream.write(frame, (error) => error ?? taken());
  }

  cutOff(): void {
    resetUnread(this.#call);
  }
}
