import { connect, type Socket } from 'node:net';

/** One answer of the engine, whole. */
export interface LeanAnswer {
  readonly status: number;
  readonly body: string;
  /** Whether the connection can be used again. */
  readonly reusable: boolean;
}

interface Head {
  readonly status: number;
  /** Bytes of the head itself. */
  readonly length: number;
  /** Undefined: in chunks, or until the connection ends. */
  readonly contentLength: number | undefined;
  readonly chunked: boolean;
  readonly closes: boolean;
}

const headEnd = Buffer.from('\r\n\r\n');
// A list of everything on a full machine is a few MB; more is damage, and must not fill memory.
const longestAnswer = 64_000_000;
const lastChunk = '0\r\n\r\n';

/** The bytes of a request with a body in JSON, or with none. */
export function requestBytes(method: string, path: string, body: object | undefined): string {
  if (!/^[\x21-\x7e]+$/.test(path)) throw new Error(`"${path}" is no path of a request`);
  if (body === undefined) return `${method} ${path} HTTP/1.1\r\nHost: docker\r\n\r\n`;
  const json = JSON.stringify(body);
  const length = Buffer.byteLength(json);
  return `${method} ${path} HTTP/1.1\r\nHost: docker\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${json}`;
}

/** Connects without waiting: what is written meanwhile is sent when the connection stands. */
export function openSocket(path: string): Socket {
  const socket = connect(path);
  socket.on('error', () => {});
  return socket;
}

/**
 * Sends one request and reads its whole answer. The error says whether a single byte of an answer came (`answered`).
 */
export function exchange(socket: Socket, request: string): Promise<LeanAnswer> {
  return new Promise((resolve, reject) => {
    const reader = answerReader();
    let answered = false;
    const settle = () => {
      socket.off('data', onData);
      socket.off('close', onClose);
      socket.off('error', onError);
    };
    const onData = (chunk: Buffer) => {
      answered = true;
      try {
        const answer = reader(chunk);
        if (answer === undefined) return;
        settle();
        resolve(answer);
      } catch (error) {
        settle();
        reject(error);
      }
    };
    let cause: Error | undefined;
    const onError = (error: Error) => {
      cause = error;
    };
    const onClose = () => {
      settle();
      const error = cause ?? Object.assign(new Error('the connection ended'), { code: 'ECONNRESET' });
      reject(Object.assign(error, { answered }));
    };
    socket.on('data', onData);
    socket.once('error', onError);
    socket.once('close', onClose);
    socket.write(request);
  });
}

/** Takes an answer as it comes; what it says is read once all of it is there. */
export function answerReader(): (chunk: Buffer) => LeanAnswer | undefined {
  const parts: Buffer[] = [];
  let length = 0;
  let head: Head | undefined;
  const whole = () => (parts.length === 1 ? parts[0]! : Buffer.concat(parts));
  return (chunk) => {
    parts.push(chunk);
    length += chunk.length;
    if (length > longestAnswer) throw new Error(`an answer of more than ${longestAnswer} bytes`);
    head ??= parseHead(whole());
    if (head === undefined || (head.contentLength !== undefined && length < head.length + head.contentLength)) return undefined;
    // Its last bytes may have come in two pieces; a longer one without them is not looked through.
    if (
      head.chunked &&
      chunk.length > lastChunk.length &&
      !chunk.toString('latin1', chunk.length - lastChunk.length).endsWith(lastChunk)
    )
      return undefined;
    return parseAnswer(whole());
  };
}

/**
 * Reads the head of an answer that is a stream: resolves with its status;
 * what follows is there to be read from the socket.
 */
export function readHead(socket: Socket): Promise<{ readonly status: number }> {
  return new Promise((resolve, reject) => {
    let data: Buffer = Buffer.alloc(0);
    const settle = () => {
      socket.off('data', onData);
      socket.off('close', onClose);
    };
    const onData = (chunk: Buffer) => {
      data = Buffer.concat([data, chunk]);
      const head = parseHead(data);
      if (head === undefined) return;
      settle();
      socket.pause();
      const rest = data.subarray(head.length);
      if (rest.length > 0) socket.unshift(rest);
      resolve({ status: head.status });
    };
    const onClose = () => {
      settle();
      reject(socket.errored ?? Object.assign(new Error('the connection ended'), { code: 'ECONNRESET' }));
    };
    if (socket.destroyed) return onClose();
    socket.on('data', onData);
    socket.once('close', onClose);
    socket.resume();
  });
}

/**
 * The answer at the start of these bytes, or undefined while some of it is missing.
 * Throws for what is no answer of HTTP.
 */
export function parseAnswer(data: Buffer): LeanAnswer | undefined {
  const head = parseHead(data);
  if (head === undefined) return undefined;
  const { status, closes } = head;
  const whole = (body: string, reusable = !closes): LeanAnswer => ({ status, body, reusable });
  if (status === 204 || status === 304) return whole('');
  if (head.chunked) {
    const body = parseChunks(data.subarray(head.length));
    return body === undefined ? undefined : whole(body);
  }
  if (head.contentLength === undefined) throw new Error('an answer without a length');
  const end = head.length + head.contentLength;
  return data.length < end ? undefined : whole(data.toString('utf8', head.length, end));
}

function parseHead(data: Buffer): Head | undefined {
  const end = data.indexOf(headEnd);
  if (end < 0) return undefined;
  const text = data.toString('latin1', 0, end).toLowerCase();
  const status = Number(text.slice(9, 12));
  if (!text.startsWith('http/1.') || !(status >= 100)) throw new Error('no answer of HTTP');
  const length = /\r\ncontent-length: *(\d+)/.exec(text)?.[1];
  return {
    status,
    length: end + headEnd.length,
    contentLength: length === undefined ? undefined : Number(length),
    chunked: text.includes('\r\ntransfer-encoding: chunked'),
    closes: text.includes('\r\nconnection: close'),
  };
}

/** The body of an answer in chunks, or undefined while some of it is missing. */
function parseChunks(data: Buffer): string | undefined {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = data.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(data.toString('latin1', at, lineEnd), 16);
    if (!(size >= 0)) throw new Error('a chunk without a size');
    const end = lineEnd + 2 + size;
    if (data.length < end + 2) return undefined;
    if (size === 0) return Buffer.concat(parts).toString('utf8');
    parts.push(data.subarray(lineEnd + 2, end));
    at = end + 2;
  }
}
