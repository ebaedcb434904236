import { readFileSync } from 'node:fs';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2, constants } from 'node:http2';
import { Agent, request } from 'node:https';
import { connect as connectTls } from 'node:tls';
import type { ConnectOptions } from '../../../client/index.ts';
import type { DoorRequest } from './requests.ts';

export interface DoorOutcome {
  /** The status of HTTP; undefined when none came. */
  readonly code: number | undefined;
  /** "lost": the server had ended the connection, of which the library of this client does not tell. */
  readonly how: 'answered' | 'left' | 'broken' | 'silent' | 'not sent' | 'stuck' | 'lost';
  /** Of one that nothing was heard of: how far it got, and on which connection. */
  readonly where?: string | undefined;
}

/** A server that says nothing for so long to a request that must be answered has forgotten it. */
const silenceMs = 60_000;
const closeMs = 100;

/** A caller of the door over both versions of HTTP; its connections are made again when they break. */
export class DoorConnection {
  readonly #target: ConnectOptions;
  readonly #agent: Agent;
  #session: ClientHttp2Session | undefined;

  constructor(target: ConnectOptions) {
    this.#target = target;
    this.#agent = new Agent({ keepAlive: true, maxSockets: 24 });
  }

  get #tls() {
    const { ca, cert, key } = this.#target;
    return { ca, cert, key, servername: 'localhost', checkServerIdentity: () => undefined };
  }

  #headers(headers: DoorRequest['headers']): Record<string, string> {
    const { token } = this.#target;
    return { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers };
  }

  session(): ClientHttp2Session {
    if (this.#session && !this.#session.closed && !this.#session.destroyed) return this.#session;
    const session = connectHttp2(`https://${this.#target.address}`, { ...this.#tls, maxSessionMemory: 1_000 });
    session.setMaxListeners(0);
    session.on('error', () => {});
    session.on('goaway', () => session.close());
    this.#session = session;
    return session;
  }

  overHttp2({ method, path, headers, body, patienceMs }: DoorRequest): Promise<DoorOutcome> {
    return new Promise((resolve) => {
      try {
        const stream = this.session().request({ ...this.#headers(headers), ':method': method, ':path': path });
        let code: number | undefined;
        let end: End | undefined;
        const timer = setTimeout(() => {
          const { session } = stream;
          end = patienceMs === undefined ? endOfWaiting(session?.socket?.localPort, stateOfStream(stream)) : { how: 'left' };
          stream.close(constants.NGHTTP2_CANCEL);
          // Closing waits for what is still to be written.
          setTimeout(() => stream.destroy(), closeMs);
          if (end.how === 'lost') session?.destroy();
        }, patienceMs ?? silenceMs);
        stream.on('response', (answer) => {
          code = answer[':status'];
        });
        stream.on('error', () => {});
        stream.on('close', () => {
          clearTimeout(timer);
          resolve({ code, how: code === undefined ? 'broken' : 'answered', ...end });
        });
        // A refusal stops the body, and Node then never closes the stream that it was writing.
        stream.on('end', () => stream.destroy());
        stream.on('aborted', () => stream.destroy());
        stream.resume();
        stream.end(body);
      } catch {
        resolve({ code: undefined, how: 'not sent' });
      }
    });
  }

  overHttp1({ method, path, headers, body, patienceMs }: DoorRequest): Promise<DoorOutcome> {
    const [host, port] = this.#target.address.split(':');
    return new Promise((resolve) => {
      try {
        const call = request({
          ...{ host, port, method, path, agent: this.#agent, headers: this.#headers(headers), ...this.#tls },
        });
        let code: number | undefined;
        let end: End | undefined;
        const timer = setTimeout(() => {
          end = patienceMs === undefined ? endOfWaiting(call.socket?.localPort, stateOfCall(call)) : { how: 'left' };
          call.destroy();
        }, patienceMs ?? silenceMs);
        call.on('response', (response) => {
          code = response.statusCode;
          response.on('error', () => {});
          response.resume();
        });
        call.on('error', () => {});
        call.on('close', () => {
          clearTimeout(timer);
          resolve({ code, how: code === undefined ? 'broken' : 'answered', ...end });
        });
        call.end(body);
      } catch {
        resolve({ code: undefined, how: 'not sent' });
      }
    });
  }

  /** Sends bytes on a new connection; gives what the server answers until it closes the connection, or within `ms`. */
  speak(bytes: Uint8Array, ms = 200): Promise<DoorOutcome> {
    const [host, port] = this.#target.address.split(':');
    return new Promise((resolve) => {
      const socket = connectTls({ host, port: Number(port), ...this.#tls, ALPNProtocols: ['http/1.1'] });
      let text = '';
      const leave = setTimeout(() => socket.destroy(), ms);
      socket.on('error', () => {});
      socket.on('data', (chunk: Buffer) => {
        if (text.length < 64) text += chunk.toString('latin1');
      });
      socket.on('close', () => {
        clearTimeout(leave);
        const code = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
        resolve({ code: code === undefined ? undefined : Number(code), how: code === undefined ? 'broken' : 'answered' });
      });
      socket.write(bytes);
    });
  }

  close(): void {
    this.#session?.destroy();
    this.#agent.destroy();
  }
}

type End = Pick<DoorOutcome, 'how' | 'where'>;

/**
 * Of a request that was not answered within its time. Where a connection breaks under a write of its client (the server
 * ends one of HTTP/2 after a hundred broken requests, whatever else comes on it), Node's TLS takes that write for one
 * that still goes on: it reads no more, and the requests of a connection that the kernel has given up wait for ever.
 */
function endOfWaiting(port: number | undefined, where: string): End {
  return { how: port === undefined || isEstablished(port) ? 'silent' : 'lost', where };
}

const ESTABLISHED = '01';

/** Whether the kernel has a connection from this port that neither side has ended. */
function isEstablished(port: number): boolean {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n');
  return lines.some((line) => {
    const [, from, , state] = line.trim().split(/\s+/);
    return from?.endsWith(local) && state === ESTABLISHED;
  });
}

/** How far it got; the server knows its connection by the port. */
function stateOfCall(call: ClientRequest): string {
  const { socket, reusedSocket, writableFinished } = call;
  const { res } = call as { readonly res?: IncomingMessage };
  if (!socket) return 'HTTP/1.1 without a connection';
  const sent = writableFinished ? 'sent' : 'not sent in whole';
  const answer = res ? (res.complete ? 'answered in whole' : 'answered in part') : 'not answered';
  const bytes = `${socket.bytesWritten} bytes written and ${socket.bytesRead} read`;
  return `HTTP/1.1 on port ${socket.localPort}${reusedSocket ? ', used before' : ''}: ${sent}, ${answer}, ${bytes}`;
}

function stateOfStream({ id, session, state, writableLength, readableEnded }: ClientHttp2Stream): string {
  const details = JSON.stringify({ writableLength, readableEnded, stream: state, session: session?.state });
  return `HTTP/2 on port ${session?.socket?.localPort}: stream ${id}, ${details}`;
}
