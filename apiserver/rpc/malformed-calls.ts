import { constants, type ServerHttp2Stream } from 'node:http2';
import { status as codes, type ServerInterceptingCall, type ServerInterceptor } from '@grpc/grpc-js';
import type { Arrivals } from '../connections/arrivals.ts';

type Status = Parameters<ServerInterceptingCall['sendStatus']>[0];

/** A client has so long after the status to end its side of the stream. */
const HALF_CLOSE_MS = 1_000;

/**
 * grpc-js ends a call with INTERNAL when the client's bytes are no message, no frame or no deadline. That is the
 * client's fault, and clients must not repeat it. Faults of this server come through the pipeline and have details; a
 * status without details comes from the library and is about the request.
 */
export const refuseMalformed: (arrivals: Arrivals) => ServerInterceptor = (arrivals) => (method, call) => {
  // grpc-js does not offer it; a version without it is caught by the test of slow requests.
  const { stream } = call as unknown as { readonly stream?: ServerHttp2Stream };
  // Handlers read request streams, after authentication.
  if (stream && method.requestStream) arrivals.follow(stream);
  else if (stream) awaitMessage(arrivals, stream, call as ServerInterceptingCall);
  const send = call.sendStatus;
  call.sendStatus = (status) => {
    send.call(call, clientsFault(status));
    if (stream && !stream.readableEnded) closeAnswered(stream);
  };
  // Wrapping the call, as interceptors usually do, would cost every message a few steps more.
  return call as ServerInterceptingCall;
};

/**
 * Closes a stream after its status, if the client does not half-close: a client could otherwise hold it open
 * indefinitely. Messages before the status may still wait for a slow reader.
 */
function closeAnswered(stream: ServerHttp2Stream): void {
  const close = (): void => {
    const timer = setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), HALF_CLOSE_MS).unref();
    stream.once('close', () => clearTimeout(timer));
  };
  if (stream.writableFinished) close();
  else stream.once('finish', close);
}

/** A call whose request is one message. */
function awaitMessage(arrivals: Arrivals, stream: ServerHttp2Stream, call: ServerInterceptingCall): void {
  const expire = (details: string): void => {
    call.sendStatus({ code: codes.DEADLINE_EXCEEDED, details });
    // A client that goes on sending keeps its stream open otherwise.
    setTimeout(() => stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM), HALF_CLOSE_MS).unref();
  };
  const count = arrivals.beginStream(stream, expire);
  stream.on('data', (chunk: Buffer) => count(chunk.length));
}

function clientsFault(status: Status): Status {
  if (status.code !== codes.INTERNAL || status.metadata?.get('grpc-status-details-bin').length) return status;
  return { ...status, code: codes.INVALID_ARGUMENT };
}
