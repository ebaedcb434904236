import { setMaxListeners } from 'node:events';
import * as grpc from '@grpc/grpc-js';
import { formatLeaseTerm, LEASE_TERM } from '../../api/meta/lease-term.ts';
import { longestTimerMs } from '../../api/meta/timeout.ts';
import { onAbort } from '../abort.ts';
import type { CallOptions } from '../services/resource-client.ts';
import type { CallChannel, ChannelOptions } from './call-channel.ts';
import { cancelled, type FailedCall, fromServiceError, unanswered } from './call-errors.ts';
import { decodeResponse, encodeRequest, maxMessageBytes, readWarnings } from './call-messages.ts';
import type { ConnectOptions } from './connect-options.ts';
import { createCredentials, serverName } from './credentials.ts';
import { createDuplex, type Duplex } from './duplex.ts';
import type { Method } from './method.ts';
import { defaultTimeoutMs, retryRefused } from './retry-refused.ts';
import { timeLimit } from './time-limit.ts';

export type { Method };

/**
 * One connection to the API server: made with the first call, made again when it breaks, with waits of 0.2 to 5 s.
 * Calls made while it is broken fail at once with UNAVAILABLE. Every method throws ApiError and nothing else.
 */
export interface Connection {
  unary<Res extends object>(method: Method, request: object, call?: CallOptions): Promise<Res>;
  /** Reads no faster than the caller. Leaving the loop ends the call. */
  stream<Res extends object>(method: Method, request: object, call?: CallOptions): AsyncIterable<Res>;
  /** Messages that are Buffers go out as they are. */
  duplex<Req extends object, Res extends object>(method: Method, call?: CallOptions): Duplex<Req, Res>;
  /** How long a call may take of which this is the own time, or the usual one; undefined: without bound. */
  timeLimit(ownMs: number | undefined, usualMs?: number): number | undefined;
  /** Ends every call with CANCELLED; calls made afterwards fail. */
  close(): void;
}

const channelOptions: grpc.ClientOptions = {
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.max_receive_message_length': maxMessageBytes,
  'grpc.max_send_message_length': maxMessageBytes,
  'grpc.initial_reconnect_backoff_ms': 200,
  'grpc.max_reconnect_backoff_ms': 5_000,
  // A client of its own has a connection of its own: closing one, or its flow control, must not touch another.
  'grpc.use_local_subchannel_pool': 1,
  // Machines with a proxy in their environment would send calls to 127.0.0.1 through it.
  'grpc.enable_http_proxy': 0,
  'grpc.service_config_disable_resolution': 1,
};

const asIs = (bytes: Buffer): Buffer => bytes;

/** A call that runs, as the library gives it. */
type RunningCall = grpc.ClientUnaryCall | grpc.ClientReadableStream<Buffer> | grpc.ClientDuplexStream<Buffer, Buffer>;

export function createConnection(options: ConnectOptions): Connection {
  return new GrpcConnection(options, () => openClient(options));
}

/** A connection whose calls another carries, which the caller made. */
export function createConnectionOver(channel: CallChannel, options: ChannelOptions): Connection {
  return new GrpcConnection(options, () => channel);
}

/** One connection, and how many calls use it. */
interface Connected {
  readonly client: CallChannel;
  readonly certificate: object | undefined;
  calls: number;
}

function openClient(options: ConnectOptions): grpc.Client {
  const certificate = options.certificate?.();
  const own = certificate && { cert: certificate.certificate, key: certificate.key, ca: certificate.ca ?? options.ca };
  return new grpc.Client(options.address, createCredentials({ ...options, ...own }), {
    ...channelOptions,
    ...keepaliveOf(options),
    ...serverName(options.address),
    'grpc.primary_user_agent': options.userAgent ?? 'berth',
  });
}

class GrpcConnection implements Connection {
  readonly #options: ChannelOptions & Pick<ConnectOptions, 'certificate'>;
  readonly #open: () => CallChannel;
  #connected: Connected;
  readonly #running = new Set<RunningCall>();
  #closed = false;

  constructor(options: ChannelOptions & Pick<ConnectOptions, 'certificate'>, open: () => CallChannel) {
    this.#options = options;
    this.#open = open;
    this.#connected = this.#connect();
  }

  #connect(): Connected {
    return { client: this.#open(), certificate: this.#options.certificate?.(), calls: 0 };
  }

  /**
   * The connection for new calls: another one when the certificate is another.
   * Calls that use the old one end in their time.
   */
  get #client(): CallChannel {
    const { client, certificate } = this.#connected;
    if (this.#closed || certificate === this.#options.certificate?.()) return client;
    const before = this.#connected;
    this.#connected = this.#connect();
    closeUnused(before);
    return this.#connected.client;
  }

  unary<Res extends object>(method: Method, request: object, call: CallOptions = {}): Promise<Res> {
    const timeoutMs = this.timeLimit(call.timeoutMs, defaultTimeoutMs) ?? Number.POSITIVE_INFINITY;
    return retryRefused({ ...call, timeoutMs }, (limited) => this.#once<Res>(method, request, limited));
  }

  #once<Res extends object>(method: Method, request: object, call: CallOptions & { readonly timeoutMs: number }): Promise<Res> {
    const { timeoutMs } = call;
    const failed = this.#failedCall(method, timeoutMs);
    return new Promise<Res>((resolve, reject) => {
      this.#checkOpen(method, call.signal);
      const finish = (error: grpc.ServiceError | null, bytes?: Buffer) => {
        unlink();
        if (!error && bytes) settle(resolve, reject, () => decodeResponse<Res>(method, bytes));
        else reject(call.signal?.aborted ? cancelled(method) : fromServiceError(error, failed));
      };
      const { path } = method;
      const running = this.#client.makeUnaryRequest(
        path,
        asIs,
        asIs,
        encodeRequest(method, request),
        this.#metadata(call),
        deadline(timeoutMs),
        finish,
      );
      const unlink = this.#track(running, call.signal);
    });
  }

  async *stream<Res extends object>(method: Method, request: object, call: CallOptions = {}): AsyncGenerator<Res> {
    this.#checkOpen(method, call.signal);
    const bytes = encodeRequest(method, request);
    const timeoutMs = this.timeLimit(call.timeoutMs);
    const running = this.#client.makeServerStreamRequest(
      method.path,
      asIs,
      asIs,
      bytes,
      this.#metadata(call),
      deadline(timeoutMs),
    );
    const unlink = this.#track(running, call.signal);
    // The library emits errors also after the reader has left.
    running.on('error', () => {});
    try {
      for await (const message of running) yield decodeResponse<Res>(method, message as Buffer);
      if (call.signal?.aborted) throw cancelled(method);
    } catch (error) {
      const failed = { ...this.#failedCall(method, timeoutMs), isStream: true };
      throw call.signal?.aborted ? cancelled(method) : fromServiceError(error, failed);
    } finally {
      unlink();
      running.cancel();
    }
  }

  duplex<Req extends object, Res extends object>(method: Method, call: CallOptions = {}): Duplex<Req, Res> {
    this.#checkOpen(method, call.signal);
    const running = this.#client.makeBidiStreamRequest(method.path, asIs, asIs, this.#metadata(call), deadline(call.timeoutMs));
    const unlink = this.#track(running, call.signal);
    const answer = this.#awaitAnswer(running);
    return createDuplex<Req, Res>(running, {
      encode: (message) => encodeRequest(method, message),
      decode: (bytes) => decodeResponse<Res>(method, bytes),
      toError: (error) => {
        if (call.signal?.aborted) return cancelled(method);
        if (answer.isLate()) return unanswered(this.#failedCall(method, this.#options.requestTimeoutMs));
        return fromServiceError(error, this.#failedCall(method, call.timeoutMs));
      },
      onEnd() {
        answer.stop();
        unlink();
      },
    });
  }

  timeLimit(ownMs: number | undefined, usualMs?: number): number | undefined {
    return timeLimit(this.#options.requestTimeoutMs, ownMs, usualMs);
  }

  /** Ends a session that the server does not answer in time. What it takes afterwards is the user's to say. */
  #awaitAnswer(running: RunningCall): { isLate(): boolean; stop(): void } {
    const { requestTimeoutMs } = this.#options;
    if (!requestTimeoutMs) return { isLate: () => false, stop: () => undefined };
    let isLate = false;
    const timer = setTimeout(
      () => {
        isLate = true;
        running.cancel();
      },
      Math.min(requestTimeoutMs, longestTimerMs),
    );
    const stop = (): void => clearTimeout(timer);
    running.once('metadata', stop);
    return { isLate: () => isLate, stop };
  }

  close(): void {
    this.#closed = true;
    for (const call of this.#running) call.cancel();
    this.#client.close();
  }

  #metadata({ requestId }: CallOptions): grpc.Metadata {
    const metadata = new grpc.Metadata();
    if (requestId) metadata.set('x-request-id', requestId);
    const { impersonate, leaseTerm } = this.#options;
    const term = leaseTerm?.();
    if (term) metadata.set(LEASE_TERM, formatLeaseTerm(term));
    if (impersonate) {
      // Metadata is ASCII, and several values may arrive joined by commas.
      metadata.set('impersonate-user', encodeURIComponent(impersonate.user));
      for (const group of impersonate.groups ?? []) metadata.add('impersonate-group', encodeURIComponent(group));
    }
    return metadata;
  }

  #checkOpen(method: Method, signal: AbortSignal | undefined): void {
    if (this.#closed || signal?.aborted) throw cancelled(method);
  }

  #failedCall(method: Method, timeoutMs?: number): FailedCall {
    return { address: this.#options.address, path: method.path, timeoutMs };
  }

  /** Hears the call's warnings, and cancels it on abort and on close; the returned function ends both. */
  #track(call: RunningCall, signal: AbortSignal | undefined): () => void {
    const { onWarning } = this.#options;
    if (onWarning) {
      const warn = (metadata: grpc.Metadata) => {
        for (const text of readWarnings(metadata.get('berth-warning'))) onWarning(text);
      };
      call.on('metadata', warn);
      call.on('status', (status: grpc.StatusObject) => warn(status.metadata));
    }
    this.#running.add(call);
    const used = this.#connected;
    used.calls++;
    let isOver = false;
    // Any number of calls may share a signal; Node.js would call more than ten a leak.
    if (signal) setMaxListeners(0, signal);
    const unlink = onAbort(signal, () => call.cancel());
    return () => {
      unlink();
      this.#running.delete(call);
      if (isOver) return;
      isOver = true;
      used.calls--;
      if (used !== this.#connected) closeUnused(used);
    };
  }
}

/**
 * Not before its last call has ended: on a connection that is being closed the library's keepalive fails,
 * and cuts off what is under way.
 */
function closeUnused({ client, calls }: Connected): void {
  if (calls === 0) client.close();
}

function settle<T>(resolve: (value: T) => void, reject: (error: unknown) => void, compute: () => T): void {
  try {
    resolve(compute());
  } catch (error) {
    reject(error);
  }
}

function deadline(timeoutMs: number | undefined): grpc.CallOptions {
  return timeoutMs === undefined || !Number.isFinite(timeoutMs) ? {} : { deadline: Date.now() + timeoutMs };
}

function keepaliveOf({ keepalive }: ConnectOptions): grpc.ClientOptions {
  if (!keepalive) return {};
  return { 'grpc.keepalive_time_ms': keepalive.timeMs, 'grpc.keepalive_timeout_ms': keepalive.timeoutMs };
}
