import { connect, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { ConnectOptions } from './connect-options.ts';
import type { LocalSocket } from './local-socket.ts';
import { connectTls, secureContextOf } from './tls-socket.ts';

/** What a single call takes of the options; for the others `connectBriefly` is there. */
export type SingleCallOptions = Pick<ConnectOptions, 'address' | 'ca' | 'cert' | 'key' | 'token' | 'userAgent'> & {
  /** In place of the address, without TLS. */
  readonly local?: LocalSocket | undefined;
};

/** Types and flags of HTTP/2's frames (RFC 9113, 6). */
const DATA = 0;
const HEADERS = 1;
const SETTINGS = 4;
const PING = 6;
const WINDOW_UPDATE = 8;
const END_STREAM = 0x01;
const ACK = 0x01;
const END_HEADERS = 0x04;
const PADDED = 0x08;
const PRIORITY = 0x20;
const HEADER_BYTES = 9;
const STREAM = 1;
/** How much of an answer may come without a word from this side: more than what it may have in all. */
const windowBytes = 16 * 1024 * 1024;
const usualWindowBytes = 65_535;
/** A page of a table; longer answers are for the whole client. */
const maxAnswerBytes = 12 * 1024 * 1024;
/** Of a frame, where a side did not say otherwise; less in a request, with which headers go. */
const maxFrameBytes = 16_384;
const maxRequestBytes = 16_000;
/** One that does not shake hands soon is left to the whole client, which says what it waits for. */
const handshakeMs = 2_000;
/** Of a gRPC message: whether it is compressed, and its length. */
const PREFIX_BYTES = 5;

/**
 * One unary call, without the modules that HTTP/2 takes in Node.js: they cost a short command 7 ms of processor time.
 * It reads only the plain form of success: one message, the status 0 and no warning. Gives undefined for everything
 * else: a refusal, a warning, a server that is away. The call is then to be made by the whole client, which has the
 * words for it; so it has to be one that may be made twice. Throws as `connectBriefly` for options that are wrong.
 */
export async function callOnce(
  options: SingleCallOptions,
  path: string,
  request: Uint8Array,
  timeoutMs: number,
): Promise<Buffer | undefined> {
  if (request.length > maxRequestBytes) return undefined;
  const { local } = options;
  const words = opening({ ...options, ...local }, path, request, timeoutMs);
  const socket = local ? connect(local.path) : connectTls(options.address, secureContextOf(options));
  try {
    return await new Promise<Buffer | undefined>((resolve) => {
      let timer = setTimeout(() => resolve(undefined), Math.min(handshakeMs, timeoutMs));
      const end = (answer: Buffer | undefined): void => {
        clearTimeout(timer);
        resolve(answer);
      };
      // Not before: what is written earlier may reach a server whose certificate is not checked yet.
      socket.once(local ? 'connect' : 'secureConnect', () => {
        if (!local && (socket as TLSSocket).alpnProtocol !== 'h2') return end(undefined);
        clearTimeout(timer);
        timer = setTimeout(() => resolve(undefined), timeoutMs);
        socket.write(words);
      });
      const answer = new Answer(socket, end);
      socket.on('data', (bytes: Buffer) => answer.take(bytes));
      socket.on('error', () => end(undefined));
      socket.on('close', () => end(undefined));
    });
  } finally {
    socket.destroy();
  }
}

/** All that this side has to say. */
function opening(options: SingleCallOptions, path: string, request: Uint8Array, timeoutMs: number): Buffer {
  const { address, token, userAgent = 'berth' } = options;
  // No table of headers, no push.
  const settings = Buffer.alloc(18);
  for (const [at, [name, value]] of [[1, 0] as const, [2, 0] as const, [4, windowBytes] as const].entries()) {
    settings.writeUInt16BE(name, at * 6);
    settings.writeUInt32BE(value, at * 6 + 2);
  }
  const more = Buffer.alloc(4);
  more.writeUInt32BE(windowBytes - usualWindowBytes);
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(request.length, 1);
  const headers = {
    ':method': 'POST',
    ':scheme': 'https',
    ':authority': address,
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    'user-agent': userAgent,
    'grpc-timeout': `${timeoutMs}m`,
    ...(token !== undefined && { authorization: `Bearer ${typeof token === 'string' ? token : token().trim()}` }),
  };
  return Buffer.concat([
    Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    frame(SETTINGS, 0, 0, settings),
    frame(WINDOW_UPDATE, 0, 0, more),
    frame(HEADERS, END_HEADERS, STREAM, Buffer.concat(Object.entries(headers).map(literal))),
    frame(DATA, END_STREAM, STREAM, Buffer.concat([prefix, request])),
  ]);
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}

/** A header that no table keeps, as plain text (RFC 7541, 6.2.2 and 6.2.3: a token is kept by no proxy either). */
function literal([name, value]: [string, string]): Buffer {
  return Buffer.concat([Buffer.from([name === 'authorization' ? 0x10 : 0]), plainText(name), plainText(value)]);
}

function plainText(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from(integer(bytes.length, 0x7f)), bytes]);
}

/** RFC 7541, 5.1; `most` is what the first byte has room for. */
function integer(value: number, most: number): number[] {
  if (value < most) return [value];
  const bytes = [most];
  for (let rest = value - most; ; rest >>>= 7) {
    if (rest < 0x80) return [...bytes, rest];
    bytes.push((rest & 0x7f) | 0x80);
  }
}

/** Reads the frames of an answer. */
class Answer {
  readonly #socket: Socket;
  readonly #end: (answer: Buffer | undefined) => void;
  #rest: Buffer = Buffer.alloc(0);
  readonly #pieces: Buffer[] = [];
  #length = 0;
  #isOk = false;

  constructor(socket: Socket, end: (answer: Buffer | undefined) => void) {
    this.#socket = socket;
    this.#end = end;
  }

  take(bytes: Buffer): void {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    while (this.#rest.length >= HEADER_BYTES) {
      const length = this.#rest.readUIntBE(0, 3);
      const isSmall = length <= maxFrameBytes;
      if (isSmall && this.#rest.length < HEADER_BYTES + length) return;
      const payload = this.#rest.subarray(HEADER_BYTES, HEADER_BYTES + length);
      const [type, flags, stream] = [this.#rest[3]!, this.#rest[4]!, this.#rest.readUInt32BE(5)];
      this.#rest = this.#rest.subarray(HEADER_BYTES + length);
      if (!isSmall || !this.#read(type, flags, stream, payload)) {
        this.#end(undefined);
        return;
      }
    }
  }

  /** Whether the frame is one of the plain form. */
  #read(type: number, flags: number, stream: number, payload: Buffer): boolean {
    if (type === WINDOW_UPDATE) return true;
    if (type === SETTINGS || type === PING) {
      if ((flags & ACK) === 0) this.#socket.write(frame(type, ACK, 0, type === PING ? payload : Buffer.alloc(0)));
      return true;
    }
    if (stream !== STREAM || (flags & PADDED) !== 0) return false;
    if (type === DATA) return this.#readData(flags, payload);
    if (type !== HEADERS || (flags & PRIORITY) !== 0 || (flags & END_HEADERS) === 0) return false;
    return this.#readHeaders((flags & END_STREAM) !== 0, payload);
  }

  #readData(flags: number, payload: Buffer): boolean {
    this.#pieces.push(payload);
    this.#length += payload.length;
    return this.#isOk && (flags & END_STREAM) === 0 && this.#length <= maxAnswerBytes + PREFIX_BYTES;
  }

  #readHeaders(isLast: boolean, block: Buffer): boolean {
    const found = findHeaders(block);
    if (found === undefined || found.hasWarning) return false;
    if (!isLast) {
      this.#isOk = found.isOk && !found.isDone;
      return this.#isOk;
    }
    const answer = Buffer.concat(this.#pieces);
    if (!this.#isOk || !found.isDone || answer.length < PREFIX_BYTES || answer[0] !== 0) return false;
    if (answer.length !== PREFIX_BYTES + answer.readUInt32BE(1)) return false;
    this.#end(answer.subarray(PREFIX_BYTES));
    return true;
  }
}

/** Of the headers of an answer: HTTP's status 200, gRPC's status 0, and whether the server warns. */
interface FoundHeaders {
  readonly isOk: boolean;
  readonly isDone: boolean;
  readonly hasWarning: boolean;
}

/** ":status: 200" in HPACK's static table. */
const status200 = 8;
/** The entries of that table; behind them are those of the table that this side refuses. */
const staticEntries = 61;
/** A name as plain text, and in HPACK's Huffman code, which has one form of each text (RFC 7541, appendix B). */
const names = {
  status: ['grpc-status', '9acac8b21234da8f'],
  warning: ['berth-warning', '8cb62675bc0eca8d54df'],
} as const;

/** Looks for the headers that matter, in HPACK (RFC 7541); undefined for what this side does not read. */
function findHeaders(block: Buffer): FoundHeaders | undefined {
  const found = { isOk: false, isDone: false, hasWarning: false };
  const reader = { block, at: 0 };
  while (reader.at < block.length) {
    const first = block[reader.at]!;
    // How large the table is from now on: nothing, as this side said.
    if ((first & 0xe0) === 0x20) {
      if (readInteger(reader, 0x1f) !== 0) return undefined;
      continue;
    }
    const isIndexed = (first & 0x80) !== 0;
    const index = readInteger(reader, isIndexed ? 0x7f : (first & 0x40) !== 0 ? 0x3f : 0x0f);
    if (index === undefined || index > staticEntries) return undefined;
    if (isIndexed) {
      found.isOk ||= index === status200;
      continue;
    }
    const name = index === 0 ? readText(reader) : undefined;
    const value = readText(reader);
    if ((index === 0 && name === undefined) || value === undefined) return undefined;
    if (name !== undefined && isNamed(name, names.warning)) found.hasWarning = true;
    if (name !== undefined && isNamed(name, names.status)) {
      if (value.isCoded || value.bytes.toString('latin1') !== '0') return undefined;
      found.isDone = true;
    }
  }
  return found;
}

interface Reader {
  readonly block: Buffer;
  at: number;
}

interface Text {
  readonly isCoded: boolean;
  readonly bytes: Buffer;
}

function isNamed({ isCoded, bytes }: Text, [plain, coded]: readonly [string, string]): boolean {
  return isCoded ? bytes.toString('hex') === coded : bytes.toString('latin1') === plain;
}

function readText(reader: Reader): Text | undefined {
  const isCoded = ((reader.block[reader.at] ?? 0) & 0x80) !== 0;
  const length = readInteger(reader, 0x7f);
  if (length === undefined || reader.at + length > reader.block.length) return undefined;
  const bytes = reader.block.subarray(reader.at, reader.at + length);
  reader.at += length;
  return { isCoded, bytes };
}

function readInteger(reader: Reader, most: number): number | undefined {
  const first = reader.block[reader.at++];
  if (first === undefined) return undefined;
  let value = first & most;
  if (value < most) return value;
  for (let shift = 0; shift <= 21; shift += 7) {
    const byte = reader.block[reader.at++];
    if (byte === undefined) return undefined;
    value += (byte & 0x7f) << shift;
    if ((byte & 0x80) === 0) return value;
  }
  return undefined;
}
