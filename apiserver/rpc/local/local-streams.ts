import { Duplex } from 'node:stream';
import { status as codes, Metadata, type StatusObject } from '@grpc/grpc-js';
import { OWN_TRANSPORT } from '../caller.ts';
import { MAX_RECEIVE_BYTES, MAX_SEND_BYTES } from '../grpc-server.ts';
import { type LocalCall, statusOf, toServiceError, toStatus } from './local-call.ts';

/** As grpc-js has it: so many messages may wait to be written before a writer is told to wait. */
const writableHighWaterMark = 16;

/**
 * One side of a stream within the process: what the other side writes is read here, one message at a time. A message
 * counts as written when it is being read, so a slow reader holds up its writer.
 */
abstract class Half extends Duplex {
  protected readonly call: LocalCall;
  readonly #mostBytes: number;
  #room: (() => void) | undefined;
  protected other: Half | undefined;

  /** `mostBytes`: of a message that comes here. */
  constructor(call: LocalCall, mostBytes: number) {
    super({ objectMode: true, readableHighWaterMark: 1, writableHighWaterMark });
    this.call = call;
    this.#mostBytes = mostBytes;
  }

  joinTo(other: Half): void {
    this.other = other;
  }

  override _write(message: Buffer, _encoding: string, done: () => void): void {
    this.other?.receive(message, done);
  }

  protected receive(message: Buffer, done: () => void): void {
    // A reader that has left ends the call by itself.
    if (this.destroyed) return;
    if (message.length > this.#mostBytes) this.call.abandon(tooLarge(message.length, this.#mostBytes));
    else {
      this.#room = done;
      this.push(message);
    }
  }

  override _read(): void {
    const done = this.#room;
    this.#room = undefined;
    // In a turn of its own: a reader that keeps up would otherwise read all that there is before others have theirs.
    if (done) setImmediate(done);
  }
}

/** The client's side, with what is used of a stream of grpc-js: `cancel`, and "metadata", "error" and "status". */
export class ClientHalf extends Half {
  #isGreeted = false;

  constructor(call: LocalCall) {
    super(call, MAX_SEND_BYTES);
    call.whenOver((status) => {
      this.push(null);
      if (status.code !== codes.OK) this.emit('error', toServiceError(status));
      this.emit('status', status);
    });
  }

  cancel(): void {
    this.call.cancel();
  }

  /** The server has accepted the call. */
  greet(metadata: Metadata): void {
    if (this.#isGreeted) return;
    this.#isGreeted = true;
    process.nextTick(() => this.emit('metadata', metadata));
  }

  protected override receive(message: Buffer, done: () => void): void {
    this.greet(new Metadata());
    // The bytes are shared with other watchers: each client reads its own, as over a network.
    super.receive(Buffer.from(message), done);
  }

  override _final(done: () => void): void {
    this.other?.push(null);
    done();
  }
}

/** The server's side, with what is used of a stream of grpc-js. */
export class ServerHalf extends Half {
  /** Of a call whose answers alone are a stream. */
  readonly request: Buffer | undefined;
  readonly [OWN_TRANSPORT]: LocalCall;
  readonly #client: ClientHalf;
  #trailer: Metadata | undefined;

  constructor(call: LocalCall, client: ClientHalf, request?: Buffer) {
    super(call, MAX_RECEIVE_BYTES);
    this.request = request;
    this[OWN_TRANSPORT] = call;
    this.#client = client;
    this.joinTo(client);
    client.joinTo(this);
    this.on('error', (error: Partial<StatusObject> & Error) => {
      call.failWith(statusOf(error));
      this.end();
    });
    call.onCancelled(() => {
      this.emit('cancelled', 'cancelled');
      this.destroy();
    });
  }

  get metadata(): Metadata {
    return this.call.metadata;
  }

  get cancelled(): boolean {
    return this.call.isCancelled;
  }

  getPath(): string {
    return this.call.method;
  }

  sendMetadata(metadata: Metadata): void {
    this.#client.greet(metadata);
  }

  override end(trailer?: unknown): this {
    if (trailer instanceof Metadata) this.#trailer = trailer;
    return super.end();
  }

  override _final(done: () => void): void {
    done();
    this.call.end(this.#trailer);
  }
}

export function tooLarge(bytes: number, most: number): StatusObject {
  return toStatus(codes.RESOURCE_EXHAUSTED, `a message of ${bytes} bytes is too large: at most ${most}`);
}
