import { EventEmitter } from 'node:events';
import {
  type CallOptions,
  type ClientDuplexStream,
  type ClientReadableStream,
  type ClientUnaryCall,
  status as codes,
  type handleBidiStreamingCall,
  type handleServerStreamingCall,
  type handleUnaryCall,
  type Metadata,
  type ServiceDefinition,
  type ServiceError,
  type StatusObject,
  type sendUnaryData,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { known } from '../../authn/identity.ts';
import { OWN_TRANSPORT } from '../caller.ts';
import { MAX_RECEIVE_BYTES, MAX_SEND_BYTES } from '../grpc-server.ts';
import { LocalCall, type LocalCaller, statusOf, toServiceError, toStatus } from './local-call.ts';
import { ClientHalf, ServerHalf, tooLarge } from './local-streams.ts';

/** After so many calls have begun others get their turn. */
const callsPerTurn = 32;

type Handlers = handleUnaryCall<Buffer, Buffer> &
  handleServerStreamingCall<Buffer, Buffer> &
  handleBidiStreamingCall<Buffer, Buffer>;
type Coding = (value: Buffer) => Buffer;
type Answer = (error: ServiceError | null, bytes?: Buffer) => void;

/**
 * The services for clients in the server's own process: the same handlers, without sockets, TLS and HTTP/2. Messages
 * stay encoded, and a call begins in a turn of its own, as if it had come over a network.
 */
export class LocalCalls {
  readonly #handlers = new Map<string, Handlers>();
  readonly #running = new Set<LocalCall>();
  #waiting: (() => void)[] = [];
  #isScheduled = false;
  #isClosed = false;
  #onIdle: () => void = () => {};

  add(definition: ServiceDefinition, implementation: UntypedServiceImplementation): void {
    for (const [name, { path }] of Object.entries(definition)) this.#handlers.set(path, implementation[name] as Handlers);
  }

  /** How the calls of one client come here. */
  channel({ identity, userAgent }: LocalCaller): LocalChannel {
    return new LocalChannel(this, { identity: known(identity), userAgent });
  }

  /** Takes no new calls, lets running ones end for so long, then cuts them. */
  async drain(graceMs: number): Promise<void> {
    this.#isClosed = true;
    if (this.#running.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        for (const call of [...this.#running]) call.abandon(toStatus(codes.UNAVAILABLE, 'Connection dropped'));
      }, graceMs);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  open(method: string, caller: LocalCaller, metadata: Metadata, { deadline }: CallOptions): LocalCall {
    const at = deadline === undefined ? Number.POSITIVE_INFINITY : Number(deadline);
    const call = new LocalCall({ method, caller, metadata, deadline: at });
    this.#running.add(call);
    call.whenClosed(() => {
      this.#running.delete(call);
      if (this.#running.size === 0) this.#onIdle();
    });
    return call;
  }

  /** Runs the handler in a later turn, unless the call is over by then. */
  begin(call: LocalCall, request: Buffer | undefined, run: (handler: Handlers) => void): void {
    const handler = this.#handlers.get(call.method);
    if (this.#isClosed) call.abandon(toStatus(codes.UNAVAILABLE, 'Connection closed'));
    else if (!handler) call.abandon(toStatus(codes.UNIMPLEMENTED, `the server does not implement ${call.method}`));
    else if (request && request.length > MAX_RECEIVE_BYTES) call.abandon(tooLarge(request.length, MAX_RECEIVE_BYTES));
    else {
      this.#waiting.push(() => {
        if (!call.isOver) run(handler);
      });
      this.#schedule();
    }
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      const now = this.#waiting.splice(0, callsPerTurn);
      if (this.#waiting.length > 0) this.#schedule();
      for (const run of now) run();
    });
  }
}

/** What clients use of `Client` of grpc-js. */
export class LocalChannel {
  readonly #calls: LocalCalls;
  readonly #caller: LocalCaller;

  constructor(calls: LocalCalls, caller: LocalCaller) {
    this.#calls = calls;
    this.#caller = caller;
  }

  makeUnaryRequest(
    path: string,
    _encode: Coding,
    _decode: Coding,
    request: Buffer,
    metadata: Metadata,
    options: CallOptions,
    answer: Answer,
  ): ClientUnaryCall {
    const call = this.#calls.open(path, this.#caller, metadata, options);
    const unary = new UnaryCall(call, request, answer);
    this.#calls.begin(call, request, (handler) => handler(unary as never, unary.respond));
    return unary as EventEmitter as ClientUnaryCall;
  }

  makeServerStreamRequest(
    path: string,
    _encode: Coding,
    _decode: Coding,
    request: Buffer,
    metadata: Metadata,
    options: CallOptions,
  ): ClientReadableStream<Buffer> {
    return this.#stream(path, request, metadata, options) as unknown as ClientReadableStream<Buffer>;
  }

  makeBidiStreamRequest(
    path: string,
    _encode: Coding,
    _decode: Coding,
    metadata: Metadata,
    options: CallOptions,
  ): ClientDuplexStream<Buffer, Buffer> {
    return this.#stream(path, undefined, metadata, options) as unknown as ClientDuplexStream<Buffer, Buffer>;
  }

  /** Its calls end by themselves: there is no connection to close. */
  close(): void {}

  #stream(path: string, request: Buffer | undefined, metadata: Metadata, options: CallOptions): ClientHalf {
    const call = this.#calls.open(path, this.#caller, metadata, options);
    const client = new ClientHalf(call);
    const server = new ServerHalf(call, client, request);
    this.#calls.begin(call, request, (handler) => handler(server as never, () => {}));
    return client;
  }
}

/** A unary call, seen from both of its sides, with what is used of grpc-js. */
class UnaryCall extends EventEmitter {
  readonly request: Buffer;
  readonly [OWN_TRANSPORT]: LocalCall;
  readonly #call: LocalCall;
  #answer: Buffer | undefined;

  constructor(call: LocalCall, request: Buffer, answer: Answer) {
    super();
    this.request = request;
    this[OWN_TRANSPORT] = call;
    this.#call = call;
    call.whenOver((status: StatusObject) => {
      if (status.code === codes.OK) answer(null, this.#answer);
      else answer(toServiceError(status));
      this.emit('status', status);
    });
    call.onCancelled(() => this.emit('cancelled', 'cancelled'));
  }

  get metadata(): Metadata {
    return this.#call.metadata;
  }

  get cancelled(): boolean {
    return this.#call.isCancelled;
  }

  getPath(): string {
    return this.#call.method;
  }

  sendMetadata(metadata: Metadata): void {
    process.nextTick(() => this.emit('metadata', metadata));
  }

  cancel(): void {
    this.#call.cancel();
  }

  readonly respond: sendUnaryData<Buffer> = (error, bytes, trailer) => {
    if (error) this.#call.failWith(statusOf(error));
    else if (bytes && bytes.length > MAX_SEND_BYTES) this.#call.failWith(tooLarge(bytes.length, MAX_SEND_BYTES));
    // The bytes may be the cache's: a client reads its own, as over a network.
    else this.#answer = Buffer.from(bytes ?? []);
    this.#call.end(trailer);
  };
}
