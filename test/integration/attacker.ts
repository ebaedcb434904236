import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';

/** HTTP/2 frame types and flags that attacks are made of. */
export const frames = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
export const END_STREAM = 1;
export const END_HEADERS = 4;

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

export function frame(type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A header block, nothing of it compressed. */
export function headerBlock(headers: Readonly<Record<string, string>>): Buffer {
  const text = (value: string): Buffer[] => [integer(value.length), Buffer.from(value)];
  return Buffer.concat(Object.entries(headers).flatMap(([name, value]) => [Buffer.from([0]), ...text(name), ...text(value)]));
}

/** With a prefix of 7 bits. */
function integer(value: number): Buffer {
  if (value < 127) return Buffer.from([value]);
  const bytes = [127];
  let left = value - 127;
  for (; left >= 128; left >>= 7) bytes.push((left & 127) | 128);
  return Buffer.from([...bytes, left]);
}

export const requestHeaders = (path: string, more: Readonly<Record<string, string>> = {}): Buffer =>
  headerBlock({
    ':method': 'POST',
    ':scheme': 'https',
    ':path': path,
    ':authority': 'x',
    'content-type': 'application/grpc',
    te: 'trailers',
    ...more,
  });

/** A gRPC message; `length` is what it says of itself. */
export function message(bytes: Uint8Array, length = bytes.length): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, bytes]);
}

export interface Heard {
  /** Frames by type. */
  readonly types: number[];
  /** Codes of the frames that reset a stream, and of the one that ended the connection. */
  readonly resets: number[];
  goaway: number | undefined;
  bytes: number;
}

/** A connection on which nothing has to be right. */
export class Attacker<S extends Socket = Socket> {
  readonly socket: S;
  readonly heard: Heard = { types: [], resets: [], goaway: undefined, bytes: 0 };
  text = '';
  error: Error | undefined;
  #rest = Buffer.alloc(0);
  #closed = false;

  constructor(socket: S, { http2 = false } = {}) {
    this.socket = socket;
    socket.on('error', (error) => {
      this.error = error;
    });
    socket.once('close', () => {
      this.#closed = true;
    });
    socket.on('data', (chunk: Buffer) => {
      this.heard.bytes += chunk.length;
      if (http2) this.#parse(chunk);
      else this.text += chunk.toString('latin1');
    });
  }

  get closed(): boolean {
    return this.#closed;
  }

  send(...parts: Uint8Array[]): void {
    if (!this.#closed) this.socket.write(Buffer.concat(parts));
  }

  async ended(): Promise<void> {
    if (!this.#closed) await new Promise((resolve) => this.socket.once('close', resolve));
  }

  #parse(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= 9) {
      const length = this.#rest.readUIntBE(0, 3);
      if (this.#rest.length < 9 + length) return;
      const type = this.#rest.readUInt8(3);
      this.heard.types.push(type);
      if (type === frames.reset) this.heard.resets.push(this.#rest.readUInt32BE(9));
      if (type === frames.goaway) this.heard.goaway = this.#rest.readUInt32BE(13);
      this.#rest = this.#rest.subarray(9 + length);
    }
  }
}

const endpoint = (address: string) => ({ host: '127.0.0.1', port: Number(address.slice(address.lastIndexOf(':') + 1)) });

/** Only TCP. */
export async function attackTcp(address: string): Promise<Attacker> {
  const socket = connectTcp(endpoint(address));
  const attacker = new Attacker(socket);
  await once(socket, 'connect');
  return attacker;
}

/** Over TLS; rejects with the error of the handshake. */
export async function attackTls(address: string, options: ConnectionOptions = {}): Promise<Attacker<TLSSocket>> {
  const http2 = options.ALPNProtocols === undefined;
  const socket = connectTls({ ...endpoint(address), rejectUnauthorized: false, ALPNProtocols: ['h2'], ...options });
  const attacker = new Attacker(socket, { http2 });
  await once(socket, 'secureConnect');
  return attacker;
}

/** Over TLS and ready for frames: the preface and empty settings are sent. */
export async function attackHttp2(address: string, options: ConnectionOptions = {}): Promise<Attacker<TLSSocket>> {
  const attacker = await attackTls(address, options);
  attacker.send(PREFACE, frame(frames.settings, 0, 0));
  return attacker;
}
