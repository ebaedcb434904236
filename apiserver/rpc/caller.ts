import type { EventEmitter } from 'node:events';
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { ServerDuplexStream, ServerUnaryCall, ServerWritableStream } from '@grpc/grpc-js';
import { unauthenticated } from '../../api/errors/index.ts';
import { authenticate, type Credentials } from '../authn/authenticate.ts';
import { type Identity, isBootstrapper, serviceAccountOf } from '../authn/identity.ts';
import type { TokenTable } from '../authn/tokens.ts';
import type { TransportCall } from '../calls/transport-call.ts';
import { flowOf } from '../limits/levels.ts';
import type { ClientCertificates } from '../pki/client-certificates.ts';
import { peerOf } from './listener/connection-table.ts';

export type AnyCall = ServerUnaryCall<Buffer, Buffer> | ServerWritableStream<Buffer, Buffer> | ServerDuplexStream<Buffer, Buffer>;

/** The identity of a connection, determined once; a connection's certificate never changes. */
const identities = new WeakMap<ServerHttp2Session, Identity>();
const certificates = new WeakMap<ServerHttp2Session, Presented>();
/**
 * A connection's last token and its identity: hashing the token for each call costs more than the rest of the pipeline.
 * It is compared only with tokens from the same connection, so timing reveals nothing about others.
 */
const shown = new WeakMap<ServerHttp2Session, { authorization: string; tokens: TokenTable; identity: Identity }>();

/**
 * The HTTP/2 stream below a call. grpc-js does not expose it officially, so it may be missing in a later version. Every
 * use has a fallback: certificates are read for each call, a cut-off watcher ends with its connection, and an answer
 * counts as read when it was sent.
 */
export function http2StreamOf(call: AnyCall): ServerHttp2Stream | undefined {
  return (call as unknown as { call?: { stream?: ServerHttp2Stream } }).call?.stream;
}

/** Connections that are authenticated per call, because their credentials may expire first. */
const judgedByCall = new WeakSet<ServerHttp2Session>();

/** Whether a connection has authenticated; it may be outdated. */
export function isIdentified(session: ServerHttp2Session): boolean {
  if (identities.has(session) || shown.has(session) || judgedByCall.has(session)) return true;
  const socket = session.socket as Partial<TLSSocket> | undefined;
  return socket?.authorized === true && socket.getPeerCertificate?.().subject !== undefined;
}

/** The client that a connection's incomplete requests count against: the authenticated flow, or the address. */
export function clientOf(session: ServerHttp2Session): string {
  const identity = identities.get(session) ?? shown.get(session)?.identity;
  return identity ? `user ${flowOf(identity).key}` : `address ${peerOf(session.socket?.remoteAddress)}`;
}

/** After this, a cut-off stream that cannot even take its status is reset. */
const RESET_AFTER_MS = 1_000;

/** Resets a stream whose client does not even read the status. */
export function resetUnread(call: AnyCall): void {
  const stream = http2StreamOf(call);
  const reset = setTimeout(() => stream?.close(constants.NGHTTP2_ENHANCE_YOUR_CALM), RESET_AFTER_MS);
  reset.unref();
  stream?.once('close', () => clearTimeout(reset));
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
  else (stream ?? (call as EventEmitter)).once(stream ? 'close' : 'cancelled', done);
}

/** Whether a closed call was ended by its client, or by force. */
export function wasReset(call: AnyCall): boolean {
  return (http2StreamOf(call)?.rstCode ?? 0) !== constants.NGHTTP2_NO_ERROR;
}

/** The address that a call counts for when it has no user. */
export function peerOfCall(call: AnyCall): string {
  return peerOf(http2StreamOf(call)?.session?.socket?.remoteAddress);
}

interface Presented {
  /** Undefined: none that counts. */
  readonly certificate: Credentials['certificate'];
  /** In ms since 1970. TLS looks at it when a connection begins; this one may outlive it. */
  readonly endsAt: number;
  /** DER. */
  readonly raw: Buffer | undefined;
}

function presentedOn(call: AnyCall, session: ServerHttp2Session | undefined): Presented {
  const known = session && certificates.get(session);
  if (known) return known;
  const { subject, valid_to: end, raw } = call.getAuthContext().sslPeerCertificate ?? {};
  // A subject may hold several O, which Node gives as an array.
  const organizations = [subject?.O ?? []].flat() as string[];
  const certificate = subject?.CN === undefined ? undefined : { commonName: String(subject.CN), organizations };
  const presented = { certificate, endsAt: end === undefined ? Number.POSITIVE_INFINITY : Date.parse(end), raw };
  if (session) certificates.set(session, presented);
  return presented;
}

/** What is wrong with the certificate that the peer presented; undefined when it presented none. */
function refusalOf(session: ServerHttp2Session | undefined): string | undefined {
  const socket = session?.socket as Partial<TLSSocket> | undefined;
  const presented = socket?.getPeerCertificate?.();
  if (!socket?.authorizationError || !presented?.subject) return undefined;
  const named = `the client certificate of "${[presented.subject.CN].flat().join()}"`;
  // Node gives the code of OpenSSL, whatever its types say.
  const code = String(socket.authorizationError);
  if (code === 'CERT_HAS_EXPIRED') return `${named} expired on ${presented.valid_to}: get a new one`;
  if (code === 'CERT_NOT_YET_VALID') return `${named} is not valid before ${presented.valid_from}: look at the clocks`;
  return `${named} does not count here (${code}): present one that this cluster's authority signed`;
}

function identify(call: AnyCall, tokens: TokenTable, clients?: ClientCertificates): Identity {
  const authorization = call.metadata.get('authorization')[0]?.toString();
  const session = http2StreamOf(call)?.session as ServerHttp2Session | undefined;
  const known = session && shown.get(session);
  if (known && known.authorization === authorization && known.tokens === tokens) return known.identity;
  const { certificate, endsAt, raw } = presentedOn(call, session);
  if (authorization === undefined && certificate && endsAt <= Date.now())
    throw unauthenticated(
      `the client certificate of "${certificate.commonName}" expired on ${new Date(endsAt).toISOString()}: connect with a new one`,
    );
  const first = authorization === undefined && session ? identities.get(session) : undefined;
  if (first) return first;
  const refusedCertificate = certificate || authorization !== undefined ? undefined : refusalOf(session);
  const identity = authenticate({ certificate, refusedCertificate, authorization }, tokens);
  if (session && authorization === undefined) {
    identities.set(session, identity);
    clients?.note({ user: identity.user, raw, endsAt });
  }
  // Tokens for joining, and those of service accounts, end while connections stay.
  if (session && authorization !== undefined) {
    if (isBootstrapper(identity) || serviceAccountOf(identity.user)) judgedByCall.add(session);
    else shown.set(session, { authorization, tokens, identity });
  }
  return identity;
}

/** A call over gRPC. */
export class GrpcCall implements TransportCall {
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
    return identify(this.#call, tokens, clients);
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
