import type { EventEmitter } from 'node:events';
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { ServerDuplexStream, ServerUnaryCall, ServerWritableStream } from '@grpc/grpc-js';
import type { Identity } from '../authn/identity.ts';
import type { TokenTable } from '../authn/tokens.ts';
import { type CallerConnection, identify } from '../calls/identify.ts';
import type { TransportCall } from '../calls/transport-call.ts';
import { peerOf } from '../connections/connection-table.ts';
import type { ClientCertificates } from '../pki/client-certificates.ts';

export type AnyCall = ServerUnaryCall<Buffer, Buffer> | ServerWritableStream<Buffer, Buffer> | ServerDuplexStream<Buffer, Buffer>;

/**
 * The HTTP/2 stream below a call. grpc-js does not expose it officially, so it may be missing in a later version. Every
 * use has a fallback: certificates are read for each call, a cut-off watcher ends with its connection, and an answer
 * counts as read when it was sent.
 */
export function http2StreamOf(call: AnyCall): ServerHttp2Stream | undefined {
  return (call as unknown as { call?: { stream?: ServerHttp2Stream } }).call?.stream;
}

const connectionOf = (session: ServerHttp2Session): CallerConnection => ({
  key: session,
  socket: session.socket as Partial<TLSSocket> | undefined,
});

/** Where the library shows no session: what it says of the certificate, for each call. */
function shownBy(call: AnyCall): CallerConnection {
  const { sslPeerCertificate: certificate } = call.getAuthContext();
  return { key: undefined, socket: certificate && { authorized: true, getPeerCertificate: () => certificate as never } };
}

/** A transport that is no stream of HTTP/2. */
export interface OwnTransport extends TransportCall {
  /** Breaks a call off whose client does not even read the status. */
  reset(): void;
}

/** Where a call keeps its transport when that is no stream of HTTP/2. */
export const OWN_TRANSPORT: unique symbol = Symbol('transport');

const ownTransportOf = (call: AnyCall): OwnTransport | undefined =>
  (call as { readonly [OWN_TRANSPORT]?: OwnTransport })[OWN_TRANSPORT];

export function transportOf(call: AnyCall): TransportCall {
  return ownTransportOf(call) ?? new GrpcCall(call);
}

/** After this, a cut-off stream that cannot even take its status is reset. */
const RESET_AFTER_MS = 1_000;

/** Resets a stream whose client does not even read the status. */
export function resetUnread(call: AnyCall): void {
  const own = ownTransportOf(call);
  const stream = http2StreamOf(call);
  const reset = setTimeout(() => (own ? own.reset() : stream?.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)), RESET_AFTER_MS);
  reset.unref();
  const stop = (): void => clearTimeout(reset);
  if (own) own.whenClosed(stop);
  else stream?.once('close', stop);
}

/** Calls `done` once, when an answer has left or its client is gone; one that is not taken within `ms` is cut off. */
export function whenTaken(call: AnyCall, ms: number, done: () => void): void {
  const stream = http2StreamOf(call);
  if (!stream || stream.destroyed) {
    done();
    return;
  }
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM), ms);
  stream.once('close', () => {
    clearTimeout(timer);
    done();
  });
}

/** Calls `done` once, when the stream of a call has closed, by whichever side. */
export function whenClosed(call: AnyCall, done: () => void): void {
  const stream = http2StreamOf(call);
  if (stream?.destroyed) done();
  // A stream closes once: without "once", which wraps its listener.
  else if (stream) stream.on('close', done);
  else (call as EventEmitter).once('cancelled', done);
}

/** Whether a closed call was ended by its client, or by force. */
export function wasReset(call: AnyCall): boolean {
  return (http2StreamOf(call)?.rstCode ?? 0) !== constants.NGHTTP2_NO_ERROR;
}

/** The address that a call counts for when it has no user. */
export function peerOfCall(call: AnyCall): string {
  return peerOf(http2StreamOf(call)?.session?.socket?.remoteAddress);
}

/** A call over gRPC. */
class GrpcCall implements TransportCall {
  readonly #call: AnyCall;

  constructor(call: AnyCall) {
    this.#call = call;
  }

  get method(): string {
    return this.#call.getPath();
  }

  get isCancelled(): boolean {
    return this.#call.cancelled;
  }

  header(name: string): readonly string[] {
    const values = this.#call.metadata.get(name);
    return values.length === 0 ? none : values.map(String);
  }

  headerNames(): readonly string[] {
    return Object.keys(this.#call.metadata.getMap());
  }

  identify(tokens: TokenTable, clients?: ClientCertificates): Identity {
    const session = http2StreamOf(this.#call)?.session as ServerHttp2Session | undefined;
    return identify(session ? connectionOf(session) : shownBy(this.#call), this.header('authorization')[0], tokens, clients);
  }

  onCancelled(listener: () => void): () => void {
    const emitter = this.#call as EventEmitter;
    emitter.on('cancelled', listener);
    return () => void emitter.removeListener('cancelled', listener);
  }

  whenTaken(ms: number, done: () => void): void {
    whenTaken(this.#call, ms, done);
  }

  whenClosed(done: () => void): void {
    whenClosed(this.#call, done);
  }
}

const none: readonly string[] = [];
