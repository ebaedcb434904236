import type { ServerResponse } from 'node:http';
import { createSecureServer, type Http2SecureServer, type Http2ServerRequest, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { listenBesides } from '../../advertise.ts';
import type { Arrivals } from '../../connections/arrivals.ts';
import type { ConnectionBounds } from '../../connections/connection-bounds.ts';
import type { Keepalive } from '../../connections/keepalive.ts';
import { contextOf, defaultTls, sessionOptions, type TlsOptions, tlsContext } from '../../connections/tls.ts';
import type { HeldCertificates, ServingIdentity } from '../../pki/held-certificates.ts';
import { mostHeaderBytes, mostHeaders } from '../requests/check-request.ts';
import { boundConnections } from './http-connections.ts';
import { Http2Answer, Http2Request } from './http2-messages.ts';
import type { LazyDoor } from './lazy-door.ts';

export interface HttpListenerOptions {
  /** HOST:PORT. */
  readonly listen: string;
  readonly certificates: HeldCertificates;
  readonly door: LazyDoor;
  readonly bounds: ConnectionBounds;
  readonly arrivals: Arrivals;
  /** When a silent connection of HTTP/2 is given up. */
  readonly keepalive?: Keepalive | undefined;
  readonly tls?: Partial<TlsOptions> | undefined;
  /** Under which others reach the server: it listens there, too, where the address is this machine's. */
  readonly advertise?: string | undefined;
  readonly log: Logger;
}

export interface HttpListener {
  /** With the real port. */
  readonly address: string;
  /** Listens at the advertised address, too, where that is this machine's; answers whether it does. */
  openBesides(): Promise<boolean>;
  /** Takes no new requests, lets running ones end for so long, then cuts them. */
  drain(graceMs: number): Promise<void>;
}

const handshakeMs = 10_000;

/** Listens for HTTP/1.1 and HTTP/2, over TLS alone. Rejects where the address cannot be had. */
export async function openHttpListener(options: HttpListenerOptions): Promise<HttpListener> {
  const { listen, certificates, door, bounds, arrivals, keepalive, advertise, log } = options;
  const tls = { ...defaultTls, ...options.tls };
  const server = createServer(certificates.serving(), door, tls);
  const connections = new OpenConnections(server);
  const bounded = boundConnections(server, {
    ...{ bounds, arrivals, keepalive },
    upgrade: (request, socket, head) => door.upgrade(request, socket, head),
  });
  const endRenewals = certificates.observe(() => server.setSecureContext(contextOf(certificates.serving(), tlsContext(tls))));
  const port = await bounded.open(listen).catch((error: unknown) => {
    endRenewals();
    throw error;
  });
  const address = `${listen.slice(0, listen.lastIndexOf(':'))}:${port}`;
  log.info({ address }, "the API server is listening for Kubernetes' clients");
  door.addresses = [address];
  return {
    address,
    async openBesides() {
      const besides = await listenBesides(address, advertise);
      if (besides === undefined) return false;
      await bounded.open(besides);
      door.addresses = [address, besides];
      log.info({ address: besides }, "the API server is listening for Kubernetes' clients of other machines");
      return true;
    },
    async drain(graceMs) {
      endRenewals();
      bounded.close();
      const closed = Promise.all([...bounded].map(({ socket }) => new Promise((resolve) => socket.once('close', resolve))));
      connections.end();
      for (const each of bounded) if (!each.tls) each.close();
      const timer = setTimeout(() => {
        connections.cut();
        for (const each of bounded) each.close();
      }, graceMs);
      await closed;
      clearTimeout(timer);
    },
  };
}

function createServer(identity: ServingIdentity, door: LazyDoor, tls: TlsOptions): Http2SecureServer {
  const server = createSecureServer(
    {
      ...contextOf(identity, tlsContext(tls)),
      ...sessionOptions,
      allowHTTP1: true,
      requestCert: true,
      rejectUnauthorized: false,
      handshakeTimeout: handshakeMs,
      settings: { maxConcurrentStreams: 250, maxHeaderListSize: mostHeaderBytes },
      maxSessionMemory: 64,
      maxHeaderListPairs: mostHeaders,
      Http2ServerRequest: Http2Request,
      Http2ServerResponse: Http2Answer,
    } as unknown as Parameters<typeof createSecureServer>[0],
    (request, response) => door.handle(request, response as unknown as ServerResponse),
  );
  // The body is asked for when it is to be read, not before the client is known.
  server.on('checkContinue', (request, response) => void server.emit('request', request, response));
  // Of HTTP/1.1: what a server of both versions takes as properties only. Headers behind the maximum are dropped, so
  // one more is read, and the door refuses it.
  Object.assign(server, { maxHeaderSize: mostHeaderBytes, maxHeadersCount: mostHeaders + 1, requireHostHeader: true });
  return server;
}

/** The open connections of both versions, for the end of the server. */
class OpenConnections {
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  /** Sockets of HTTP/1.1 with a request that is not answered yet. */
  readonly #busy = new Set<Socket>();
  #isEnding = false;

  constructor(server: Http2SecureServer) {
    server.on('secureConnection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      socket.on('error', () => {});
    });
    server.on('session', (session: ServerHttp2Session) => {
      this.#sessions.add(session);
      session.once('close', () => this.#sessions.delete(session));
    });
    server.on('upgrade', (_request, socket: Socket) => {
      this.#busy.add(socket);
      socket.once('close', () => this.#busy.delete(socket));
    });
    server.on('request', (request, response) => {
      if (request.httpVersionMajor > 1) return;
      const { socket } = request as Pick<Http2ServerRequest, 'socket'>;
      this.#busy.add(socket);
      response.once('close', () => {
        this.#busy.delete(socket);
        if (this.#isEnding) socket.destroy();
      });
    });
  }

  /** Running requests go on; what idles is closed. */
  end(): void {
    this.#isEnding = true;
    for (const session of this.#sessions) session.close();
    const ofSessions = new Set([...this.#sessions].map(endsOf));
    for (const socket of this.#sockets) if (!this.#busy.has(socket) && !ofSessions.has(endsOf({ socket }))) socket.destroy();
  }

  cut(): void {
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** Where a socket and the session that HTTP/2 makes of it are the same connection. */
const endsOf = ({ socket }: { readonly socket: Pick<Socket, 'remoteAddress' | 'remotePort'> }): string =>
  `${socket.remoteAddress}|${socket.remotePort}`;
