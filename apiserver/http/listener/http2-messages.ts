import { EventEmitter } from 'node:events';
import {
  constants,
  Http2ServerRequest,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { afterFrames } from '../../connections/after-frames.ts';

// What Node makes of each stream of HTTP/2 to look like HTTP/1.1 takes a tenth of a small read, most of it listeners
// and buffers for what this door never asks. These are the same to the door, and listen for little but the end of the
// stream.

type Stream = ServerHttp2Stream & { readonly headRequest?: boolean };

/** A request whose headers are all of it. */
export class BodilessRequest {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: string[];
  readonly httpVersionMajor = 2;
  readonly complete = true;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: string[]) {
    this.stream = stream;
    this.headers = headers;
    this.rawHeaders = rawHeaders;
  }

  get destroyed(): boolean {
    return this.stream.destroyed;
  }

  get method(): string {
    return this.headers[constants.HTTP2_HEADER_METHOD] as string;
  }

  get url(): string {
    return this.headers[constants.HTTP2_HEADER_PATH] as string;
  }

  /** That of the connection; of one that is gone, an object of this request's own, which has no address. */
  get socket(): { readonly remoteAddress?: string | undefined } {
    return this.stream.session?.socket ?? (this.stream as object);
  }
}

/** The class of requests for node:http2, which calls it with `new`. */
export function Http2Request(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  options: object | undefined,
  rawHeaders: string[],
): BodilessRequest | Http2ServerRequest {
  if (stream.endAfterHeaders) return new BodilessRequest(stream, headers, rawHeaders);
  return new Http2ServerRequest(stream, headers, options as never, rawHeaders);
}

const ignore = (): void => {};
const cutOff = (): Error => new Error('the answer was cut off');

/**
 * An answer, with what this door and node:stream's pipeline use of one of HTTP/1.1. Unlike Node's, it emits 'close'
 * also for a HEAD that was not answered, and waits for no trailers, which would cost each answer a frame and two turns
 * through the library.
 */
export class Http2Answer extends EventEmitter {
  readonly stream: Stream;
  statusCode = 200;
  writableEnded = false;
  #headers: OutgoingHttpHeaders | undefined;
  #drains = false;
  #isCut = false;

  constructor(stream: Stream) {
    super();
    this.stream = stream;
    // The call is told by 'close'.
    stream.on('error', ignore);
    stream.on('close', () => {
      // As Node's own, also of one that its client has reset.
      this.emit('finish');
      this.emit('close');
    });
  }

  get destroyed(): boolean {
    return this.#isCut || this.stream.destroyed;
  }

  get headersSent(): boolean {
    return this.stream.headersSent;
  }

  get writable(): boolean {
    return !this.writableEnded && !this.destroyed;
  }

  get writableFinished(): boolean {
    return this.stream.writableFinished;
  }

  get writableLength(): number {
    return this.stream.writableLength;
  }

  get writableHighWaterMark(): number {
    return this.stream.writableHighWaterMark;
  }

  get writableNeedDrain(): boolean {
    return this.stream.writableNeedDrain;
  }

  setHeader(name: string, value: string | string[]): void {
    this.#headers ??= {};
    this.#headers[name] = value;
  }

  /** Nothing of an answer whose client has gone. */
  writeHead(code: number, headers?: OutgoingHttpHeaders): this {
    const { stream } = this;
    if (this.destroyed || stream.closed) return this;
    this.statusCode = code;
    const all: OutgoingHttpHeaders = this.#headers ? { ...this.#headers, ...headers } : { ...headers };
    all[constants.HTTP2_HEADER_STATUS] = code;
    stream.respond(all);
    return this;
  }

  flushHeaders(): void {
    if (!this.stream.headersSent) this.writeHead(this.statusCode);
  }

  writeContinue(): void {
    const { stream } = this;
    if (stream.headersSent || this.destroyed || stream.closed) return;
    stream.additionalHeaders({ [constants.HTTP2_HEADER_STATUS]: constants.HTTP_STATUS_CONTINUE });
  }

  /** `done` gets the error of an answer that is over. */
  write(bytes: Uint8Array | string, done?: (error?: Error | null) => void): boolean {
    const { stream } = this;
    if (this.#isCut) {
      done?.(cutOff());
      return false;
    }
    this.flushHeaders();
    const isTaken = stream.write(bytes, done);
    if (!isTaken && !this.#drains) {
      this.#drains = true;
      stream.on('drain', () => this.emit('drain'));
    }
    return isTaken;
  }

  end(bytes?: Uint8Array | string): this {
    if (this.writableEnded) return this;
    this.flushHeaders();
    this.writableEnded = true;
    const { stream } = this;
    if (this.destroyed) return this;
    // Node ends the answer to a HEAD itself.
    if (bytes === undefined || stream.headRequest) stream.end();
    else stream.end(bytes);
    return this;
  }

  /**
   * An answer that is cut off has failed: some clients take a reset without an error code for its end. It is the error
   * that makes the code, because Http2Stream.close may send the stream's end before the reset.
   */
  destroy(error?: Error): void {
    const { stream } = this;
    if (this.destroyed) return;
    this.#isCut = true;
    const reason = error ?? (stream.writableFinished ? undefined : cutOff());
    afterFrames(() => stream.destroy(reason));
  }
}
