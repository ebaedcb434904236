import { connect as connectTls, type TLSSocket } from 'node:tls';

/** Where to connect and as whom. */
export interface LeanTarget {
  readonly address: string;
  readonly ca: string;
  readonly token: string;
}

/** One call: what it hears. A response of one message is a stream of one. */
export interface LeanCall {
  /** A whole gRPC message, without its header; a view that is good only during the call. */
  message(bytes: Buffer): void;
  /** The stream has ended, or the connection has. */
  end(): void;
}

const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const WINDOW_UPDATE = 8;
const END_STREAM = 1;
const END_HEADERS = 4;
const ACK = 1;
const MAX_WINDOW = 2 ** 31 - 1;
/** The connection's window is filled up again when so much was taken from it. */
const REFILL_AT = 2 ** 28;
const FRAME_HEADER = 9;

/**
 * HTTP/2 and gRPC as far as a benchmark needs them, over TLS: requests are prepared bytes, answers are cut into messages and nothing of them is
 * decoded, header blocks are not even looked at. Node's own client costs more for each message than the server does, and would measure itself.
 */
export class LeanConnection {
  private readonly socket: TLSSocket;
  private readonly authority: string;
  private readonly token: string;
  private readonly calls = new Map<number, CallState>();
  private rest: Buffer | undefined;
  private nextStream = 1;
  private taken = 0;

  private constructor(socket: TLSSocket, { address, token }: LeanTarget) {
    this.socket = socket;
    this.authority = address;
    this.token = token;
    socket.on('data', (bytes: Buffer) => this.read(bytes));
    socket.on('error', () => {});
    socket.once('close', () => this.endAll());
    const settings = Buffer.alloc(6);
    settings.writeUInt16BE(4, 0);
    settings.writeUInt32BE(MAX_WINDOW, 2);
    const window = Buffer.alloc(4);
    window.writeUInt32BE(MAX_WINDOW - 65_535, 0);
    socket.write(
      Buffer.concat([
        Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
        frame(SETTINGS, 0, 0, settings),
        frame(WINDOW_UPDATE, 0, 0, window),
      ]),
    );
  }

  /** Resolves when TLS is up. */
  static open(target: LeanTarget): Promise<LeanConnection> {
    const [host, port] = target.address.split(':') as [string, string];
    return new Promise((resolve, reject) => {
      const socket = connectTls({ host, port: Number(port), ca: target.ca, ALPNProtocols: ['h2'] });
      socket.once('error', reject);
      socket.once('secureConnect', () => {
        socket.setNoDelay(true);
        resolve(new LeanConnection(socket, target));
      });
    });
  }

  /** Stops reading, so that TCP's windows fill up; the connection stays. */
  pause(): void {
    this.socket.pause();
  }

  close(): void {
    this.socket.destroy();
  }

  /** `path` is "/package.Service/Method". */
  call(path: string, request: Buffer, call: LeanCall): void {
    const id = this.nextStream;
    this.nextStream += 2;
    this.calls.set(id, { call, parts: [], have: 0 });
    const head = Buffer.alloc(5);
    head.writeUInt32BE(request.length, 1);
    this.socket.write(
      Buffer.concat([
        frame(HEADERS, END_HEADERS, id, this.headers(path)),
        frame(DATA, END_STREAM, id, Buffer.concat([head, request])),
      ]),
    );
  }

  /** Resolves with the one message of the answer; rejects when there is none. */
  unary(path: string, request: Buffer): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      let answer: Buffer | undefined;
      this.call(path, request, {
        message: (bytes) => {
          answer = Buffer.from(bytes);
        },
        end: () => {
          if (answer) resolve(answer);
          else reject(new Error(`${path}: no answer`));
        },
      });
    });
  }

  private headers(path: string): Buffer {
    return Buffer.concat([
      header(':method', 'POST'),
      header(':scheme', 'https'),
      header(':path', path),
      header(':authority', this.authority),
      header('content-type', 'application/grpc'),
      header('te', 'trailers'),
      header('authorization', `Bearer ${this.token}`),
    ]);
  }

  private read(bytes: Buffer): void {
    const all = this.rest ? Buffer.concat([this.rest, bytes]) : bytes;
    let at = 0;
    while (all.length - at >= FRAME_HEADER) {
      const length = all.readUIntBE(at, 3);
      const end = at + FRAME_HEADER + length;
      if (end > all.length) break;
      this.frame(all[at + 3]!, all[at + 4]!, all.readUInt32BE(at + 5), all.subarray(at + FRAME_HEADER, end));
      at = end;
    }
    this.rest = at < all.length ? all.subarray(at) : undefined;
  }

  private frame(type: number, flags: number, id: number, payload: Buffer): void {
    const state = this.calls.get(id);
    if (type === DATA) this.data(state, payload);
    else if (type === SETTINGS && !(flags & ACK)) this.socket.write(frame(SETTINGS, ACK, 0, Buffer.alloc(0)));
    else if (type === PING && !(flags & ACK)) this.socket.write(frame(PING, ACK, 0, Buffer.from(payload)));
    else if (type === GOAWAY && this.calls.size === 0) this.close();
    const ends = type === RST_STREAM || ((type === DATA || type === HEADERS) && flags & END_STREAM);
    if (!ends || !state) return;
    this.calls.delete(id);
    state.call.end();
  }

  private data(state: CallState | undefined, payload: Buffer): void {
    this.taken += payload.length;
    if (this.taken > REFILL_AT) {
      const window = Buffer.alloc(4);
      window.writeUInt32BE(this.taken, 0);
      this.socket.write(frame(WINDOW_UPDATE, 0, 0, window));
      this.taken = 0;
    }
    if (state) cut(state, payload);
  }

  private endAll(): void {
    const calls = [...this.calls.values()];
    this.calls.clear();
    for (const { call } of calls) call.end();
  }
}

interface CallState {
  readonly call: LeanCall;
  parts: Buffer[];
  have: number;
}

/** Gives the messages that are whole now; the rest waits for more. */
function cut(state: CallState, payload: Buffer): void {
  state.parts.push(payload);
  state.have += payload.length;
  const first = state.parts[0]!;
  // Mostly a message begins with a frame of HTTP/2, so its length is known from the first part.
  if (first.length >= 5 && state.have < 5 + first.readUInt32BE(1)) {
    // The bytes of a part belong to the socket's read, which is not used again: keeping a view is safe.
    return;
  }
  let bytes = state.parts.length === 1 ? first : Buffer.concat(state.parts);
  while (bytes.length >= 5) {
    const end = 5 + bytes.readUInt32BE(1);
    if (bytes.length < end) break;
    state.call.message(bytes.subarray(5, end));
    bytes = bytes.subarray(end);
  }
  state.parts = bytes.length > 0 ? [bytes] : [];
  state.have = bytes.length;
}

function frame(type: number, flags: number, id: number, payload: Buffer): Buffer {
  const out = Buffer.allocUnsafe(FRAME_HEADER + payload.length);
  out.writeUIntBE(payload.length, 0, 3);
  out[3] = type;
  out[4] = flags;
  out.writeUInt32BE(id, 5);
  payload.copy(out, FRAME_HEADER);
  return out;
}

/** A literal header field without indexing and without Huffman coding (RFC 7541, 6.2.2). */
function header(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0]), text(name), text(value)]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  const length: number[] = bytes.length < 127 ? [bytes.length] : [127];
  for (let rest = bytes.length - 127; rest >= 0; rest = rest >= 128 ? rest >>> 7 : -1)
    length.push(rest >= 128 ? (rest & 127) | 128 : rest);
  return Buffer.concat([Buffer.from(length), bytes]);
}
