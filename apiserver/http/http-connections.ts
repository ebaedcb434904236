import type { ServerResponse } from 'node:http';
import type { Http2SecureServer, Http2ServerResponse, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { Arrivals } from '../connections/arrivals.ts';
import { type ConnectionBounds, DoorConnections, type Incoming } from '../connections/connection-bounds.ts';

/** A connection without a request is closed after it; Kubernetes' clients keep theirs for 90 s. */
const idleMs = 180_000;
/** HTTP/2's: its clients keep their one connection. */
const sessionIdleMs = 30 * 60_000;
/** Requests of one connection of HTTP/1.1 that wait for their answers. */
const mostPipelined = 50;
/** So long a client may take for the end of an answer. */
const takeMs = 30_000;
const sweepMs = 10_000;

type Response = ServerResponse | Http2ServerResponse;

/** The connections of the door for Kubernetes' clients, and what their requests may do to them. */
export function boundConnections(server: Http2SecureServer, bounds: ConnectionBounds, arrivals: Arrivals): DoorConnections {
  const waiting = new WeakMap<Incoming, number>();
  const connections = new DoorConnections(bounds, {
    events: server,
    inject: (socket) => void server.emit('connection', socket),
    hasHttp1: true,
  });
  // An upgraded connection has no requests any more: no time runs for it.
  server.on('upgrade', ({ socket }: { readonly socket: Socket }) => clearTimeout(connections.of(socket)?.timer));
  const unread = new UnreadAnswers();
  server.on('session', (session: ServerHttp2Session) => session.setTimeout(sessionIdleMs, () => session.close()));
  server.on('stream', (stream: ServerHttp2Stream) => arrivals.follow(stream));
  server.on('request', (request, response) => {
    unread.follow(response);
    if (request.httpVersionMajor > 1) return;
    const incoming = connections.of(request.socket);
    if (!incoming) return;
    clearTimeout(incoming.timer);
    connections.streamBegun(incoming, response);
    const count = (waiting.get(incoming) ?? 0) + 1;
    waiting.set(incoming, count);
    if (count > mostPipelined) {
      bounds.refusals.note('request-limit', incoming.peer);
      incoming.close();
    }
    response.once('close', () => {
      const left = waiting.get(incoming)! - 1;
      waiting.set(incoming, left);
      if (left === 0 && !incoming.socket.destroyed) connections.within(incoming, idleMs);
    });
  });
  return connections;
}

/** Ends answers that are complete and that the client does not take. */
class UnreadAnswers {
  /** Since when each is complete; 0 for one that is still made. */
  readonly #open = new Map<Response, number>();
  #timer: NodeJS.Timeout | undefined;

  follow(response: Response): void {
    this.#open.set(response, 0);
    response.once('close', () => this.#open.delete(response));
    this.#timer ??= setTimeout(() => this.#sweep(), sweepMs).unref();
  }

  #sweep(): void {
    const now = performance.now();
    for (const [response, since] of this.#open) {
      if (!response.writableEnded) continue;
      if (since === 0) this.#open.set(response, now);
      else if (now - since > takeMs) (response as ServerResponse).destroy();
    }
    this.#timer = this.#open.size > 0 ? setTimeout(() => this.#sweep(), sweepMs).unref() : undefined;
  }
}
