import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Http2SecureServer, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { Arrivals } from '../../connections/arrivals.ts';
import { type ConnectionBounds, DoorConnections } from '../../connections/connection-bounds.ts';
import { defaultKeepalive, endWhenSilent, type Keepalive } from '../../connections/keepalive.ts';
import type { Http2Answer } from './http2-messages.ts';

/** A connection without a request is closed after it; Kubernetes' clients keep theirs for 90 s. */
const idleMs = 180_000;
/** HTTP/2's: its clients keep their one connection. */
const sessionIdleMs = 30 * 60_000;
/** Requests of one connection of HTTP/1.1 that wait for their answers. */
const mostPipelined = 50;

/** How many looks there are in the time that a client may take. */
const SWEEPS = 3;

type Response = ServerResponse | Http2Answer;

export interface ConnectionsOptions {
  readonly bounds: ConnectionBounds;
  readonly arrivals: Arrivals;
  readonly keepalive: Keepalive | undefined;
  /** Serves a request to switch the protocol of its connection. */
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void;
}

/** The connections of the door for Kubernetes' clients, and what their requests may do to them. */
export function boundConnections(
  server: Http2SecureServer,
  { bounds, arrivals, keepalive = defaultKeepalive, upgrade }: ConnectionsOptions,
): DoorConnections {
  const waiting = new WeakMap<Socket, WaitingAnswers>();
  const connections = new DoorConnections(bounds, {
    events: server,
    inject: (socket) => void server.emit('connection', socket),
    hasHttp1: true,
  });
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    // An upgraded connection has no requests any more: no time runs for it.
    clearTimeout(connections.of(socket)?.timer);
    // Behind a request that is not answered yet, Node throws where an answer to this one is begun: no client does that.
    if ((waiting.get(socket)?.size ?? 0) > 0) socket.destroy();
    if (!socket.destroyed) upgrade(request, socket, head);
  });
  const unread = new UnreadAnswers(bounds.limits.answerMs);
  server.on('session', (session: ServerHttp2Session) => {
    session.setTimeout(sessionIdleMs, () => session.close());
    const incoming = connections.of(session.socket as Socket);
    if (incoming) endWhenSilent(session, incoming.socket, keepalive, () => incoming.close());
  });
  server.on('stream', (stream: ServerHttp2Stream) => arrivals.follow(stream));
  server.on('request', (request, response) => {
    unread.follow(response as unknown as Response);
    if (request.httpVersionMajor > 1) return;
    const { socket } = request;
    const answers = waiting.get(socket) ?? new WaitingAnswers(socket);
    waiting.set(socket, answers);
    const incoming = connections.of(socket);
    answers.add(response as unknown as ServerResponse, () => incoming && connections.within(incoming, idleMs));
    // A client that has gone already leaves a connection without an address.
    if (!incoming) return;
    clearTimeout(incoming.timer);
    connections.streamBegun(incoming, response);
    if (answers.size > mostPipelined) {
      bounds.refusals.note('request-limit', incoming.peer);
      incoming.close();
    }
  });
  return connections;
}

/**
 * The answers of a connection of HTTP/1.1 that are not complete. When it breaks, Node closes only the one whose turn it
 * is; those behind it would hold what they are charged for ever.
 */
class WaitingAnswers {
  readonly #answers = new Set<ServerResponse>();
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
    // Node's own listener comes first.
    socket.once('close', () => this.#endSoon());
  }

  get size(): number {
    return this.#answers.size;
  }

  add(answer: ServerResponse, whenIdle: () => void): void {
    this.#answers.add(answer);
    if (this.#socket.destroyed) this.#endSoon();
    answer.once('close', () => {
      this.#answers.delete(answer);
      if (this.#answers.size === 0 && !this.#socket.destroyed) whenIdle();
    });
  }

  #endSoon(): void {
    setImmediate(() => {
      for (const each of this.#answers) {
        each.destroy();
        each.emit('close');
      }
    });
  }
}

/**
 * An answer of HTTP/1.1 whose turn has not come ends nothing by its own end. With many bytes behind an answer that goes
 * on, as of a watch, Node stops reading the connection, and would not see that its client has gone.
 */
function endUnread(response: Response): void {
  if (response instanceof ServerResponse && !response.socket) response.req.socket.destroy();
  else response.destroy();
}

/** Ends answers that are complete and that the client does not take. */
class UnreadAnswers {
  /** Since when each is complete; 0 for one that is still made. */
  readonly #open = new Map<Response, number>();
  readonly #takeMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(takeMs: number) {
    this.#takeMs = takeMs;
  }

  follow(response: Response): void {
    this.#open.set(response, 0);
    response.once('close', () => this.#open.delete(response));
    this.#timer ??= this.#later();
  }

  #sweep(): void {
    const now = performance.now();
    for (const [response, since] of this.#open) {
      if (!response.writableEnded) continue;
      if (since === 0) this.#open.set(response, now);
      else if (now - since > this.#takeMs) endUnread(response);
    }
    this.#timer = this.#open.size > 0 ? this.#later() : undefined;
  }

  #later(): NodeJS.Timeout {
    return setTimeout(() => this.#sweep(), this.#takeMs / SWEEPS).unref();
  }
}
