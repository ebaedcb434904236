import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { Duplex } from 'node:stream';
import { constants, createDeflate } from 'node:zlib';
import {
  controlFrame,
  dataFrame,
  frameTypes,
  openFrame,
  resetFrame,
  resetReasons,
} from '../../apiserver/http/streams/spdy/frames.ts';
import { uint32 } from '../../apiserver/http/streams/spdy/header-blocks.ts';
import { headerDictionary } from '../../apiserver/http/streams/spdy/header-dictionary.ts';
import { readFrames } from '../../apiserver/http/streams/spdy/read-frames.ts';
import type { RunningServer } from './apiserver-harness.ts';

export interface SpdyRefusal {
  readonly code: number | undefined;
  readonly status: { readonly message?: string; readonly reason?: string; readonly code?: number };
}

export interface DialOptions {
  readonly protocols?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** Asks a server for a connection of SPDY/3.1, as kubectl does. */
export async function dialSpdy(
  server: RunningServer,
  path: string,
  { protocols = ['v4.channel.k8s.io'], headers = {} }: DialOptions = {},
): Promise<SpdyClient | SpdyRefusal> {
  const [host, port] = server.info.kubernetes!.split(':');
  const { ca, cert, key } = server.admin;
  const call = request({
    ...{ host, port, path, method: 'POST', ca, cert, key, agent: false },
    headers: { connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': [...protocols], ...headers },
  });
  call.end();
  const refused = once(call, 'response').then(async ([response]: IncomingMessage[]) => {
    const pieces: Buffer[] = [];
    for await (const piece of response!) pieces.push(piece as Buffer);
    return { code: response!.statusCode, status: JSON.parse(Buffer.concat(pieces).toString()) };
  });
  const upgraded = once(call, 'upgrade').then((taken) => {
    const [response, socket, head] = taken as [IncomingMessage, Duplex, Buffer];
    if (head.length > 0) socket.unshift(head);
    return new SpdyClient(socket, String(response.headers['x-stream-protocol-version']));
  });
  return Promise.race([upgraded, refused]);
}

export class ClientStream {
  readonly id: number;
  text = '';
  bytes = 0;
  hasEnded = false;
  isReset = false;
  isReplied = false;
  /** Ends or is reset. */
  readonly over: Promise<void>;
  readonly replied: Promise<void>;
  settle = (): void => {};
  settleReply = (): void => {};
  readonly #way: Duplex;

  constructor(id: number, way: Duplex) {
    this.id = id;
    this.#way = way;
    this.over = new Promise((resolve) => {
      this.settle = resolve;
    });
    this.replied = new Promise((resolve) => {
      this.settleReply = resolve;
    });
  }

  write(bytes: Buffer | string, isLast = false): void {
    this.#way.write(dataFrame(this.id, Buffer.from(bytes), isLast));
  }

  end(): void {
    this.write('', true);
  }

  reset(): void {
    this.#way.write(resetFrame(this.id, resetReasons.cancelled));
  }
}

/** The client's side: its headers are compressed as zlib does it, which the server's own writer does not. */
export class SpdyClient {
  readonly way: Duplex;
  readonly protocol: string;
  readonly streams = new Map<number, ClientStream>();
  readonly pings: number[] = [];
  /** Resolves when the server has closed. */
  readonly closed: Promise<void>;
  /** Resolves when frames are read again. */
  #reading: Promise<void> = Promise.resolve();
  readonly #deflate = createDeflate({ dictionary: headerDictionary, level: 9 });
  #next = 1;

  constructor(way: Duplex, protocol = '') {
    this.way = way;
    this.protocol = protocol;
    way.on('error', () => {});
    this.closed = this.#read();
  }

  async open(headers: Readonly<Record<string, string>>, isLast = false): Promise<ClientStream> {
    const id = this.#next;
    this.#next += 2;
    const stream = new ClientStream(id, this.way);
    this.streams.set(id, stream);
    this.way.write(openFrame(id, await this.#compress(headers), isLast));
    await Promise.race([stream.replied, this.closed]);
    return stream;
  }

  /** Opens one after the other the streams of a command. */
  async openAll<const N extends string>(...names: N[]): Promise<Record<N, ClientStream>> {
    const opened: [string, ClientStream][] = [];
    for (const name of names) opened.push([name, await this.open({ streamtype: name })]);
    return Object.fromEntries(opened) as Record<N, ClientStream>;
  }

  ping(id: number): void {
    this.way.write(controlFrame(frameTypes.ping, 0, uint32(id)));
  }

  /** Takes no frame more: what comes fills the connection. */
  pauseReading(): void {
    this.#reading = new Promise(() => {});
  }

  close(): void {
    this.way.destroy();
  }

  async #compress(headers: Readonly<Record<string, string>>): Promise<Buffer> {
    const pairs = Object.entries(headers);
    const block = [uint32(pairs.length), ...pairs.flat().flatMap((text) => [uint32(text.length), Buffer.from(text)])];
    this.#deflate.write(Buffer.concat(block));
    await new Promise<void>((resolve) => this.#deflate.flush(constants.Z_SYNC_FLUSH, resolve));
    return this.#deflate.read() as Buffer;
  }

  async #read(): Promise<void> {
    try {
      for await (const frame of readFrames(this.way)) {
        await this.#reading;
        if (frame.of === 'goAway') continue;
        if (frame.of === 'ping') {
          this.pings.push(frame.id);
          continue;
        }
        const stream = this.streams.get(frame.stream);
        if (!stream) throw new Error(`the server speaks of stream ${frame.stream}, which was not opened`);
        if (frame.of === 'reply') stream.isReplied = true;
        // As Kubernetes' clients do, which drop it.
        if (frame.of === 'data' && !stream.isReplied) throw new Error('data before the reply');
        if (frame.of === 'reply') stream.settleReply();
        if (frame.of === 'data') {
          stream.text += stream.bytes < 1_000_000 ? frame.bytes.toString('utf8') : '';
          stream.bytes += frame.bytes.length;
        }
        if (frame.of === 'reset') stream.isReset = true;
        if (frame.of === 'data' && frame.isLast) stream.hasEnded = true;
        if (stream.isReset || stream.hasEnded) {
          stream.settleReply();
          stream.settle();
        }
      }
    } finally {
      for (const stream of this.streams.values()) stream.settle();
    }
  }
}

export function assertOpen(dialed: SpdyClient | SpdyRefusal): asserts dialed is SpdyClient {
  if (!(dialed instanceof SpdyClient)) throw new Error(`refused: ${JSON.stringify(dialed)}`);
}
