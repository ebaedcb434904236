import { connect as connectTls, type TLSSocket } from 'node:tls';
import { type BenchServer, startServer } from '../berth.ts';

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

/** An answer over HTTP, as it comes. */
export interface LeanAnswer {
  /** A part of the body; a view that is good only during the call. */
  data(bytes: Buffer): void;
  /** The answer has ended, or the connection has. */
  end(): void;
}

/**
 * Runs a task with an API server of its own, without the loops that would react to every pod with writes of their own.
 */
export async function withApiServer<T>(task: (server: BenchServer, target: LeanTarget) => Promise<T>): Promise<T> {
  const server = await startServer('--no-scheduler', '--no-controllers');
  try {
    return await task(server, { address: server.admin.address, ca: String(server.admin.ca), token: server.token });
  } finally {
    await server.stop();
  }
}

const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const WINDOW_UPDATE = 8;
const END_STREAM = 1;
const END_HEADERS = 4;
const ACK = 1;
const MAX_WINDOW = 2 ** 31 - 1;
/** The connection's window is filled up again when so much was taken from it. */
const REFILL_AT = 2 ** 28;
const FRAME_HEADER = 9;
/** The largest that every server takes. */
const MAX_FRAME = 16_384;

/**
 * HTTP/2 and gRPC as far as a benchmark needs them, over TLS: requests are prepared bytes, answers are cut into
 * messages and nothing of them is decoded, header blocks are not even looked at. Node's own client costs more for each
 * message than the server does, and would measure itself.
 */
export class LeanConnection {
  readonly #socket: TLSSocket;
  readonly #authority: string;
  readonly #token: string;
  readonly #calls = new Map<number, CallState>();
  readonly #head = Buffer.alloc(FRAME_HEADER);
  #headHave = 0;
  #left = 0;
  /** The content of a frame that is not data. */
  #small = Buffer.alloc(0);
  /** What the server takes of requests on this connection; those that do not fit wait. */
  #window = 65_535;
  readonly #waiting: { readonly bytes: Buffer; readonly data: number }[] = [];
  #nextStream = 1;
  #taken = 0;

  private constructor(socket: TLSSocket, { address, token }: LeanTarget) {
    this.#socket = socket;
    this.#authority = address;
    this.#token = token;
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.on('error', () => {});
    socket.once('close', () => this.#endAll());
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
    this.#socket.pause();
  }

  close(): void {
    this.#socket.destroy();
  }

  /** `path` is "/package.Service/Method"; the request is at most 64 KB. */
  call(path: string, request: Buffer, call: LeanCall): void {
    const id = this.#nextStream;
    this.#nextStream += 2;
    this.#calls.set(id, { take: messagesOf(call), end: () => call.end() });
    const head = Buffer.alloc(5);
    head.writeUInt32BE(request.length, 1);
    const grpc = [header('content-type', 'application/grpc'), header('te', 'trailers')];
    const headers = frame(HEADERS, END_HEADERS, id, Buffer.concat([this.#headers('POST', path), ...grpc]));
    const data = Buffer.concat([head, request]);
    for (let at = 0; at < data.length; at += MAX_FRAME) {
      const part = data.subarray(at, at + MAX_FRAME);
      const body = frame(DATA, at + MAX_FRAME < data.length ? 0 : END_STREAM, id, part);
      this.#waiting.push({ bytes: at === 0 ? Buffer.concat([headers, body]) : body, data: part.length });
    }
    this.#send(0);
  }

  /** A read over HTTP, without a body. */
  get(path: string, accept: string, answer: LeanAnswer): void {
    const id = this.#nextStream;
    this.#nextStream += 2;
    this.#calls.set(id, { take: (bytes) => answer.data(bytes), end: () => answer.end() });
    const headers = Buffer.concat([this.#headers('GET', path), header('accept', accept)]);
    this.#waiting.push({ bytes: frame(HEADERS, END_HEADERS | END_STREAM, id, headers), data: 0 });
    this.#send(0);
  }

  /** Sends what the window allows. */
  #send(more: number): void {
    this.#window += more;
    while (this.#waiting.length > 0 && this.#waiting[0]!.data <= this.#window) {
      const { bytes, data } = this.#waiting.shift()!;
      this.#window -= data;
      this.#socket.write(bytes);
    }
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

  #headers(method: string, path: string): Buffer {
    return Buffer.concat([
      header(':method', method),
      header(':scheme', 'https'),
      header(':path', path),
      header(':authority', this.#authority),
      header('authorization', `Bearer ${this.#token}`),
    ]);
  }

  /** Frames are read as they come, also in parts: nothing is put together but headers and what is not data. */
  #read(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length || (this.#headHave === FRAME_HEADER && this.#left === 0)) {
      if (this.#headHave < FRAME_HEADER) {
        const end = Math.min(bytes.length, at + FRAME_HEADER - this.#headHave);
        this.#headHave += bytes.copy(this.#head, this.#headHave, at, end);
        at = end;
        if (this.#headHave < FRAME_HEADER) return;
        this.#left = this.#head.readUIntBE(0, 3);
      }
      const end = Math.min(bytes.length, at + this.#left);
      this.#left -= end - at;
      this.#part(bytes.subarray(at, end), this.#left === 0);
      at = end;
      if (this.#left === 0) this.#headHave = 0;
    }
  }

  #part(payload: Buffer, isLast: boolean): void {
    const [type, flags, id] = [this.#head[3]!, this.#head[4]!, this.#head.readUInt32BE(5)];
    const state = this.#calls.get(id);
    if (type === DATA) this.#data(state, payload);
    if (type === PING || type === WINDOW_UPDATE) this.#small = Buffer.concat([this.#small, payload]);
    if (!isLast) return;
    if (type === SETTINGS && !(flags & ACK)) this.#socket.write(frame(SETTINGS, ACK, 0, Buffer.alloc(0)));
    if (type === PING && !(flags & ACK)) this.#socket.write(frame(PING, ACK, 0, this.#small));
    if (type === WINDOW_UPDATE && id === 0) this.#send(this.#small.readUInt32BE(0));
    this.#small = Buffer.alloc(0);
    const ends = type === RST_STREAM || ((type === DATA || type === HEADERS) && flags & END_STREAM);
    if (!ends || !state) return;
    this.#calls.delete(id);
    state.end();
  }

  #data(state: CallState | undefined, payload: Buffer): void {
    this.#taken += payload.length;
    if (this.#taken > REFILL_AT) {
      const window = Buffer.alloc(4);
      window.writeUInt32BE(this.#taken, 0);
      this.#socket.write(frame(WINDOW_UPDATE, 0, 0, window));
      this.#taken = 0;
    }
    state?.take(payload);
  }

  #endAll(): void {
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    for (const { end } of calls) end();
  }
}

interface CallState {
  take(payload: Buffer): void;
  end(): void;
}

function messagesOf(call: LeanCall): (payload: Buffer) => void {
  const state = { call, room: Buffer.allocUnsafe(1_024), have: 0 };
  return (payload) => cut(state, payload);
}

/** What has come of a message that is not whole yet; the room is used again for the next. */
interface MessageState {
  readonly call: LeanCall;
  room: Buffer;
  have: number;
}

const MESSAGE_HEADER = 5;

/** Gives the messages that are whole now; what is whole within one part is not copied. */
function cut(state: MessageState, payload: Buffer): void {
  let rest = payload;
  while (rest.length > 0) {
    if (state.have === 0 && rest.length >= MESSAGE_HEADER) {
      const end = MESSAGE_HEADER + rest.readUInt32BE(1);
      if (end <= rest.length) {
        state.call.message(rest.subarray(MESSAGE_HEADER, end));
        rest = rest.subarray(end);
        continue;
      }
    }
    rest = gather(state, rest);
  }
}

/** Takes what the message needs, and gives back what follows it. */
function gather(state: MessageState, bytes: Buffer): Buffer {
  let rest = bytes;
  if (state.have < MESSAGE_HEADER) {
    const taken = rest.copy(state.room, state.have, 0, MESSAGE_HEADER - state.have);
    state.have += taken;
    rest = rest.subarray(taken);
    if (state.have < MESSAGE_HEADER) return rest;
    const whole = MESSAGE_HEADER + state.room.readUInt32BE(1);
    if (whole > state.room.length) state.room = Buffer.concat([state.room.subarray(0, MESSAGE_HEADER)], whole * 2);
  }
  const whole = MESSAGE_HEADER + state.room.readUInt32BE(1);
  const taken = rest.copy(state.room, state.have, 0, whole - state.have);
  state.have += taken;
  if (state.have === whole) {
    state.have = 0;
    state.call.message(state.room.subarray(MESSAGE_HEADER, whole));
  }
  return rest.subarray(taken);
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
