import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import type { ConnectOptions } from '../../../client/index.ts';

/** A call as bytes; nothing of it has to be right. */
export interface RawCall {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: readonly Uint8Array[];
  /** Half-closed behind the body; otherwise it stays open until patience is over. */
  readonly ends?: boolean;
  /** Reset by the client after so long, whatever has come by then; absent: as long as it takes. */
  readonly patienceMs?: number;
}

export interface RawOutcome {
  /** The gRPC status; undefined when none came. */
  readonly code: number | undefined;
  readonly message: string;
  /** The HTTP status; undefined when no headers came. */
  readonly http: number | undefined;
  readonly how: 'answered' | 'left' | 'reset' | 'silent';
}

/** A call that must be answered counts as lost after this time of silence. */
const silenceMs = 60_000;

/** A message as gRPC frames it. */
export function frame(message: Uint8Array, flags = 0, length = message.length): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
}

/** An HTTP/2 connection without any gRPC library, made again when it breaks. */
export class RawConnection {
  readonly #target: ConnectOptions;
  #session: ClientHttp2Session | undefined;
  connections = 0;

  constructor(target: ConnectOptions) {
    this.#target = target;
  }

  session(): ClientHttp2Session {
    if (this.#session && !this.#session.closed && !this.#session.destroyed) return this.#session;
    this.connections++;
    const { address, ca, cert, key } = this.#target;
    const session = connect(`https://${address}`, {
      ca,
      cert,
      key,
      servername: 'localhost',
      checkServerIdentity: () => undefined,
      // MiB; Node refuses calls of its own above the 10 that are usual.
      maxSessionMemory: 1_000,
    });
    session.setMaxListeners(0);
    // A reader of a stream gets the error there.
    session.on('error', () => {});
    session.on('goaway', () => session.close());
    this.#session = session;
    return session;
  }

  call(call: RawCall): Promise<RawOutcome> {
    return new Promise((resolve) => {
      let stream: ClientHttp2Stream;
      try {
        stream = this.session().request({
          ':method': 'POST',
          ':path': call.path,
          'content-type': 'application/grpc',
          te: 'trailers',
          ...definedOnly({ ...this.#authorization(), ...call.headers }),
        });
      } catch {
        // Headers that Node itself does not send.
        resolve({ code: undefined, message: 'not sent', http: undefined, how: 'left' });
        return;
      }
      observe(stream, call, resolve);
      for (const chunk of call.body) stream.write(chunk);
      if (call.ends !== false) stream.end();
    });
  }

  #authorization(): Record<string, string> {
    return this.#target.token === undefined ? {} : { authorization: `Bearer ${this.#target.token}` };
  }

  close(): void {
    this.#session?.destroy();
  }
}

function observe(stream: ClientHttp2Stream, { patienceMs }: RawCall, resolve: (outcome: RawOutcome) => void): void {
  let http: number | undefined;
  let code: number | undefined;
  let message = '';
  let left = false;
  const read = (headers: Readonly<Record<string, unknown>>): void => {
    if (headers['grpc-status'] !== undefined) code = Number(headers['grpc-status']);
    message = String(headers['grpc-message'] ?? message);
  };
  const timer = setTimeout(() => {
    left = true;
    stream.close(constants.NGHTTP2_CANCEL);
  }, patienceMs ?? silenceMs);
  stream.on('response', (headers) => {
    http = Number(headers[':status']);
    read(headers);
  });
  stream.on('trailers', read);
  stream.on('error', () => {});
  stream.on('close', () => {
    clearTimeout(timer);
    const how = code !== undefined ? 'answered' : left ? (patienceMs === undefined ? 'silent' : 'left') : 'reset';
    resolve({ code, message, http, how: http !== undefined && http !== 200 ? 'answered' : how });
  });
  stream.resume();
}

function definedOnly(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string | string[]] => entry[1] !== undefined),
  );
}
