import type { ServerHttp2Stream } from 'node:http2';
import { Metadata, type ServerWritableStream } from '@grpc/grpc-js';
import type { CallContext } from '../verbs/call-context.ts';
import type { PreparedWatch } from '../verbs/prepared-call.ts';
import type { WatchSink } from '../verbs/watch-sink.ts';
import { FRAME_HEADER_BYTES } from '../watch/event-frame.ts';
import type { PrepareStream } from './call-pipeline.ts';
import { http2StreamOf, resetUnread } from './caller.ts';

/**
 * Sends the responses of a watch over gRPC, as whole frames. The library would copy every message behind a header of
 * its own, once for each watcher, and pass it through a second stream; so frames go straight to the HTTP/2 stream below
 * it, where the same bytes serve all. The library still ends the stream. Where that stream is missing, the library
 * sends the message.
 */
class GrpcWatchSink implements WatchSink {
  readonly #call: ServerWritableStream<Buffer, Buffer>;
  #stream: ServerHttp2Stream | undefined;

  constructor(call: ServerWritableStream<Buffer, Buffer>) {
    this.#call = call;
  }

  begin(): void {
    this.#stream = http2StreamOf(this.#call);
    if (this.#stream) this.#call.sendMetadata(new Metadata());
  }

  send(frame: Buffer, taken: () => void): void {
    const stream = this.#stream;
    if (!stream) this.#call.write(frame.subarray(FRAME_HEADER_BYTES), (error?: Error | null) => error ?? taken());
    // A client that is gone takes nothing: its call ends by itself.
    else if (stream.writable) stream.write(frame, (error) => error ?? taken());
  }

  cutOff(): void {
    resetUnread(this.#call);
  }
}

/** A watch as a method of a service. */
export function watchMethod(prepare: (request: Buffer, context: CallContext) => PreparedWatch): PrepareStream {
  return (request, context) => {
    const watch = prepare(request, context);
    return { run: (call) => watch.run(new GrpcWatchSink(call)) };
  };
}
