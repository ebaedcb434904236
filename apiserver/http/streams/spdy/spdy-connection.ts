import type { Duplex } from 'node:stream';
import { InputQueue } from '../input-queue.ts';
import { sendBytes } from '../send-bytes.ts';
import { dataFrame, goAwayFrame, goAwayReasons, pingFrame, replyFrame, resetFrame, resetReasons } from './frames.ts';
import { HeaderWriter } from './header-blocks.ts';
import { readFrames, type SpdyFrame } from './read-frames.ts';
import { SpdyError } from './spdy-error.ts';

export interface SpdyConnectionOptions {
  /** Streams that are open at a time; more are refused. */
  readonly mostStreams: number;
  /** What begins with a stream, once the client knows that it is accepted; undefined: it is refused. */
  accept(stream: SpdyStream): (() => void) | undefined;
}

/** Of all streams of a connection together, in bytes, from where on nothing more is read from it. */
const mostWaiting = 128 * 1024;
/** What a piece costs besides its bytes. */
const pieceBytes = 256;
/** A connection from which nothing is read does not tell that its client has gone, until something is written. */
const probeMs = 5_000;

/** One stream of a connection, opened by the client. */
export class SpdyStream {
  readonly id: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly #connection: SpdyConnection;
  readonly #input = new InputQueue();
  #isEnded = false;
  #hasInputEnded = false;
  #isReset = false;
  #onReset = (): void => {};

  constructor(id: number, headers: ReadonlyMap<string, string>, connection: SpdyConnection) {
    this.id = id;
    this.headers = headers;
    this.#connection = connection;
  }

  /** What the client sends, until it has sent all, or is gone. */
  input(): AsyncIterableIterator<Buffer> {
    return this.#input.frames();
  }

  /** Whether it is over without having ended: the client has reset it, or is gone. */
  get isReset(): boolean {
    return this.#isReset;
  }

  whenReset(listener: () => void): void {
    if (this.#isReset) listener();
    else this.#onReset = listener;
  }

  /** Resolves when there is room for more. What the client does not want any more is dropped. Throws `sendBytes`'. */
  async write(bytes: Uint8Array, signal?: AbortSignal): Promise<void> {
    if (this.#isEnded || this.#isReset) return;
    await this.#connection.send(dataFrame(this.id, bytes), signal);
  }

  /** Nothing more comes from here, and what the client still sends is dropped. */
  async end(): Promise<void> {
    if (this.#isEnded || this.#isReset) return;
    this.#isEnded = true;
    this.#input.cut();
    this.#forgetWhenOver();
    await this.#connection.send(dataFrame(this.id, Buffer.alloc(0), true));
  }

  /** The reader has what comes, or none will. */
  deliver(bytes: Buffer): Promise<void> {
    return this.#input.push(bytes);
  }

  inputEnded(): void {
    this.#input.end();
    this.#hasInputEnded = true;
    this.#forgetWhenOver();
  }

  /** The server wants nothing more of it. */
  reset(): void {
    this.#connection.send(resetFrame(this.id, resetReasons.cancelled)).catch(() => {});
    this.cut();
  }

  cut(): void {
    if (this.#isReset) return;
    this.#isReset = true;
    this.#input.cut();
    this.#connection.forget(this.id);
    this.#onReset();
  }

  #forgetWhenOver(): void {
    if (this.#isEnded && this.#hasInputEnded) this.#connection.forget(this.id);
  }
}

/**
 * The server's side of SPDY/3.1 as Kubernetes' clients speak it: streams that the client opens, and back-pressure by
 * the connection alone, since these clients keep no windows. So a stream whose reader stands still stops the others,
 * once enough waits for it.
 */
export class SpdyConnection {
  readonly #way: Duplex;
  readonly #options: SpdyConnectionOptions;
  readonly #headers = new HeaderWriter();
  readonly #streams = new Map<number, SpdyStream>();
  #lastStream = 0;
  #waiting = 0;
  #roomMade = (): void => {};
  #ending: NodeJS.Timeout | undefined;

  constructor(way: Duplex, options: SpdyConnectionOptions) {
    this.#way = way;
    this.#options = options;
    way.on('error', () => way.destroy());
    // Each write waits for it, of as many streams as there are.
    way.setMaxListeners(0);
  }

  /** Reads until the client is gone, or speaks no SPDY. Never throws. */
  async run(): Promise<void> {
    this.#way.once('close', () => this.#cutAll());
    if (this.#way.destroyed) this.#cutAll();
    try {
      for await (const frame of readFrames(this.#way)) await this.#take(frame);
    } catch (error) {
      if (error instanceof SpdyError) await this.send(goAwayFrame(this.#lastStream, goAwayReasons.protocolError)).catch(() => {});
    } finally {
      this.close();
    }
  }

  /** Resolves when the bytes have left this process. Throws as `sendBytes`. */
  send(frame: Buffer, signal?: AbortSignal): Promise<void> {
    return sendBytes(this.#way, frame, signal);
  }

  forget(stream: number): void {
    this.#streams.delete(stream);
  }

  close(): void {
    clearTimeout(this.#ending);
    this.#way.destroy();
    this.#cutAll();
  }

  /** Kubernetes' clients lose frames that they have not read when the connection ends behind them: they close it. */
  closeWithin(ms: number): void {
    if (!this.#way.destroyed) this.#ending = setTimeout(() => this.close(), ms);
  }

  async #take(frame: SpdyFrame): Promise<void> {
    if (frame.of === 'open') await this.#open(frame.stream, frame.headers, frame.isLast);
    else if (frame.of === 'data') await this.#data(frame.stream, frame.bytes, frame.isLast);
    else if (frame.of === 'reset') this.#streams.get(frame.stream)?.cut();
    // Even ones are answers to the server's own.
    else if (frame.of === 'ping' && frame.id % 2 === 1) await this.send(pingFrame(frame.id));
  }

  async #open(id: number, headers: ReadonlyMap<string, string>, isLast: boolean): Promise<void> {
    if (id % 2 === 0 || this.#streams.has(id)) throw new SpdyError(`stream ${id} is not the client's to open`);
    this.#lastStream = Math.max(this.#lastStream, id);
    const stream = new SpdyStream(id, headers, this);
    const begin = this.#streams.size < this.#options.mostStreams ? this.#options.accept(stream) : undefined;
    if (!begin) return this.send(resetFrame(id, resetReasons.refused));
    this.#streams.set(id, stream);
    if (isLast) stream.inputEnded();
    // Clients drop what comes before the reply.
    const replied = this.send(replyFrame(id, this.#headers.write([])));
    begin();
    await replied;
  }

  async #data(id: number, bytes: Buffer, isLast: boolean): Promise<void> {
    const stream = this.#streams.get(id);
    // Of a stream that the server has ended meanwhile.
    if (!stream) return;
    if (bytes.length > 0) {
      const cost = bytes.length + pieceBytes;
      this.#waiting += cost;
      void stream.deliver(bytes).then(() => {
        this.#waiting -= cost;
        this.#roomMade();
      });
    }
    if (isLast) stream.inputEnded();
    if (this.#waiting <= mostWaiting) return;
    const probe = setInterval(() => this.send(pingFrame(2)).catch(() => {}), probeMs);
    while (this.#waiting > mostWaiting)
      await new Promise<void>((resolve) => {
        this.#roomMade = resolve;
      });
    clearInterval(probe);
  }

  #cutAll(): void {
    for (const stream of [...this.#streams.values()]) stream.cut();
  }
}
