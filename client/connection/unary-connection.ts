import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants, type IncomingHttpHeaders } from 'node:http2';
import type { SecureContext } from 'node:tls';
import { longestTimerMs } from '../../api/meta/timeout.ts';
import { onAbort } from '../abort.ts';
import type { ConnectOptions } from '../client.ts';
import type { CallOptions } from '../services/resource-client.ts';
import { cancelled, fromServiceError } from './call-errors.ts';
import { decodeResponse, encodeRequest, maxMessageBytes, readWarnings } from './call-messages.ts';
import type { Connection, Method } from './connection.ts';
import type { Duplex } from './duplex.ts';
import { defaultTimeoutMs, type LimitedCall, retryRefused } from './retry-refused.ts';
import { hostOf, sentName } from './server-name.ts';
import { timeLimit } from './time-limit.ts';
import { connectTls, secureContextOf } from './tls-socket.ts';

/** gRPC's codes that are made on this side. */
const UNKNOWN = 2;
const DEADLINE_EXCEEDED = 4;
const PERMISSION_DENIED = 7;
const RESOURCE_EXHAUSTED = 8;
const UNIMPLEMENTED = 12;
const INTERNAL = 13;
const UNAVAILABLE = 14;
const UNAUTHENTICATED = 16;
/** What a proxy between means, by gRPC's table. */
const byHttpStatus: Readonly<Record<number, number>> = {
  400: INTERNAL,
  401: UNAUTHENTICATED,
  403: PERMISSION_DENIED,
  404: UNIMPLEMENTED,
  429: UNAVAILABLE,
  502: UNAVAILABLE,
  503: UNAVAILABLE,
  504: UNAVAILABLE,
};
/** Of a message: whether it is compressed, and its length. */
const PREFIX_BYTES = 5;

/**
 * A connection for short programs: unary calls go over Node's HTTP/2, which is there sooner than the gRPC library. That
 * one is loaded with the first stream, on a connection of its own. The connection is begun at once, while the program
 * still loads. Options that are for long lives (a certificate that is renewed, keepalive) it does not have. Throws
 * INVALID_ARGUMENT for certificates that cannot be read.
 */
export function createUnaryConnection(options: ConnectOptions): Connection {
  return new UnaryConnection(options);
}

class UnaryConnection implements Connection {
  readonly #options: ConnectOptions;
  readonly #secureContext: SecureContext;
  #session: ClientHttp2Session;
  /** What ended the session. */
  #failure: Error | undefined;
  #streams: Promise<Connection> | undefined;
  #closed = false;

  constructor(options: ConnectOptions) {
    this.#options = options;
    this.#secureContext = secureContextOf(options);
    this.#session = this.#connect();
  }

  unary<Res extends object>(method: Method, request: object, call: CallOptions = {}): Promise<Res> {
    const timeoutMs = this.timeLimit(call.timeoutMs, defaultTimeoutMs) ?? Number.POSITIVE_INFINITY;
    return retryRefused({ ...call, timeoutMs }, (limited) => this.#once<Res>(method, encodeRequest(method, request), limited));
  }

  timeLimit(ownMs: number | undefined, usualMs?: number): number | undefined {
    return timeLimit(this.#options.requestTimeoutMs, ownMs, usualMs);
  }

  async *stream<Res extends object>(method: Method, request: object, call?: CallOptions): AsyncGenerator<Res> {
    yield* (await this.#whole(method)).stream<Res>(method, request, call);
  }

  duplex<Req extends object, Res extends object>(method: Method, call?: CallOptions): Duplex<Req, Res> {
    return openLater(this.#whole(method).then((whole) => whole.duplex<Req, Res>(method, call)));
  }

  close(): void {
    this.#closed = true;
    this.#session.destroy();
    this.#streams?.then((whole) => whole.close()).catch(() => {});
  }

  async #whole(method: Method): Promise<Connection> {
    if (this.#closed) throw cancelled(method);
    this.#streams ??= import('./connection.ts').then(({ createConnection }) => createConnection(this.#options));
    return this.#streams;
  }

  #connect(): ClientHttp2Session {
    const { address } = this.#options;
    const session = connect(`https://${address}`, {
      servername: sentName(hostOf(address)),
      createConnection: () => connectTls(address, this.#secureContext),
      settings: { enablePush: false, initialWindowSize: 1 << 20 },
    });
    this.#failure = undefined;
    // Calls hear of it through their streams, which do not say why.
    session.on('error', (error) => {
      this.#failure = error;
    });
    return session;
  }

  #once<Res extends object>(method: Method, request: Buffer, call: LimitedCall): Promise<Res> {
    if (this.#closed || call.signal?.aborted) return Promise.reject(cancelled(method));
    // One that broke before is made anew; why the first could not be made is for its first call to say.
    if (this.#session.destroyed && this.#failure === undefined) this.#session = this.#connect();
    const { address } = this.#options;
    return new Promise<Res>((resolve, reject) => {
      const fail = (error: unknown) => {
        const failure = this.#failure;
        reject(
          this.#closed || call.signal?.aborted
            ? cancelled(method)
            : fromServiceError(failure ? statusError(UNAVAILABLE, textOf(failure)) : error, {
                address,
                path: method.path,
                timeoutMs: call.timeoutMs,
              }),
        );
        // The next call tries it again.
        this.#failure = undefined;
      };
      if (this.#session.destroyed) return fail(undefined);
      const stream = this.#session.request(this.#headers(method, call));
      const unlink = onAbort(call.signal, () => stream.close(constants.NGHTTP2_CANCEL));
      const warn = (headers: IncomingHttpHeaders) => this.#warn(headers['berth-warning']);
      readAnswer(stream, { timeoutMs: call.timeoutMs, warn })
        .then((bytes) => decodeResponse<Res>(method, bytes))
        .then(resolve, fail)
        .finally(unlink);
      stream.end(framed(request));
    });
  }

  #headers(method: Method, { timeoutMs, requestId }: LimitedCall) {
    const { userAgent = 'berth', impersonate, token } = this.#options;
    return {
      ':method': 'POST',
      ':path': method.path,
      'content-type': 'application/grpc',
      te: 'trailers',
      'user-agent': userAgent,
      ...(Number.isFinite(timeoutMs) && { 'grpc-timeout': timeoutText(timeoutMs) }),
      ...(requestId && { 'x-request-id': requestId }),
      ...(token !== undefined && { authorization: `Bearer ${typeof token === 'string' ? token : token().trim()}` }),
      // Metadata is ASCII, and several values may arrive joined by commas.
      ...(impersonate && { 'impersonate-user': encodeURIComponent(impersonate.user) }),
      ...(impersonate?.groups?.length && { 'impersonate-group': impersonate.groups.map(encodeURIComponent) }),
    };
  }

  #warn(value: string | string[] | undefined): void {
    const { onWarning } = this.#options;
    if (onWarning && value !== undefined) for (const text of readWarnings([value].flat())) onWarning(text);
  }
}

interface Reading {
  readonly timeoutMs: number;
  warn(headers: IncomingHttpHeaders): void;
}

/** The one message of an answer. Rejects with the status of a call that failed. */
function readAnswer(stream: ClientHttp2Stream, { timeoutMs, warn }: Reading): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let length = 0;
    let ended: IncomingHttpHeaders | undefined;
    const end = (error: Error) => {
      reject(error);
      stream.close(constants.NGHTTP2_CANCEL);
    };
    const timer = setTimeout(() => end(statusError(DEADLINE_EXCEEDED, 'Deadline exceeded')), Math.min(timeoutMs, longestTimerMs));
    stream.on('response', (headers) => {
      warn(headers);
      const { ':status': status = 0 } = headers;
      if (status !== 200) end(statusError(byHttpStatus[status] ?? UNKNOWN, `Received HTTP status code ${status}`));
      // An answer without a message has its status here.
      else if (headers['grpc-status'] !== undefined) ended = headers;
    });
    stream.on('trailers', (headers) => {
      warn(headers);
      ended = headers;
    });
    stream.on('data', (piece: Buffer) => {
      length += piece.length;
      if (length > maxMessageBytes + PREFIX_BYTES) end(statusError(RESOURCE_EXHAUSTED, 'Received a message that is too large'));
      else pieces.push(piece);
    });
    stream.on('error', (error) => reject(statusError(UNAVAILABLE, textOf(error))));
    stream.on('close', () => {
      clearTimeout(timer);
      try {
        resolve(messageOf(ended, Buffer.concat(pieces)));
      } catch (error) {
        reject(error);
      }
    });
  });
}

/** Throws the status of a call that failed. */
function messageOf(ended: IncomingHttpHeaders | undefined, answer: Buffer): Buffer {
  if (ended === undefined) throw statusError(UNAVAILABLE, 'Connection dropped');
  const code = Number(ended['grpc-status']);
  if (code !== 0) throw statusError(code, textOfStatus(ended['grpc-message']), ended['grpc-status-details-bin']);
  if (answer.length < PREFIX_BYTES || answer[0] !== 0 || answer.length !== PREFIX_BYTES + answer.readUInt32BE(1))
    throw statusError(INTERNAL, 'the answer is not one message');
  return answer.subarray(PREFIX_BYTES);
}

/** At most eight digits. */
function timeoutText(timeoutMs: number): string {
  return timeoutMs < 1e8 ? `${Math.ceil(timeoutMs)}m` : `${Math.min(99_999_999, Math.ceil(timeoutMs / 1_000))}S`;
}

function framed(message: Buffer): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** An error in the form that the gRPC library gives it. */
function statusError(code: number, details: string, statusDetails?: string | string[]): Error {
  const values = [statusDetails ?? []].flat().map((text) => Buffer.from(text, 'base64'));
  const metadata = { get: (name: string) => (name === 'grpc-status-details-bin' ? values : []) };
  return Object.assign(new Error(`${code}: ${details}`), { code, details, metadata });
}

/** Several addresses that were tried are one error, which has no text of its own. */
function textOf(error: Error & { readonly code?: string; readonly errors?: readonly Error[] }): string {
  const inner = error.errors?.map(({ message }) => message).join('; ');
  return [error.code, error.message || inner].filter(Boolean).join(': ');
}

function textOfStatus(text: string | string[] | undefined): string {
  const value = [text ?? ''].flat().join();
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** A stream that is used while the library for it still loads. */
function openLater<Req, Res>(opening: Promise<Duplex<Req, Res>>): Duplex<Req, Res> {
  const closed = new AbortController();
  opening.then(
    (duplex) => onAbort(duplex.closed, () => closed.abort()),
    () => closed.abort(),
  );
  const later = (act: (duplex: Duplex<Req, Res>) => void): void => void opening.then(act, () => {});
  return {
    closed: closed.signal,
    write: async (message) => (await opening).write(message),
    end: () => later((duplex) => duplex.end()),
    async *messages() {
      yield* (await opening).messages();
    },
    cancel: () => later((duplex) => duplex.cancel()),
  };
}
