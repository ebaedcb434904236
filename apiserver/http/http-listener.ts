import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createSecureServer, type Http2SecureServer, type Http2ServerRequest, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { Logger } from 'pino';
import type { HeldCertificates, ServingIdentity } from '../pki/held-certificates.ts';
import type { HttpDoor } from './door.ts';

export interface HttpListenerOptions {
  /** HOST:PORT. */
  readonly listen: string;
  readonly certificates: HeldCertificates;
  readonly door: HttpDoor;
  readonly log: Logger;
}

export interface HttpListener {
  /** With the real port. */
  readonly address: string;
  readonly port: number;
  /** Takes no new requests, lets running ones end for so long, then cuts them. */
  drain(graceMs: number): Promise<void>;
}

/** In bytes. */
const mostHeaderBytes = 64 * 1024;
const headersMs = 10_000;
const mostConnections = 4_096;

/** Listens for HTTP/1.1 and HTTP/2, over TLS alone. Rejects where the address cannot be had. */
export async function openHttpListener({ listen, certificates, door, log }: HttpListenerOptions): Promise<HttpListener> {
  const server = createServer(certificates.serving(), door);
  server.on('upgrade', (request, socket, head) => door.upgrade(request, socket as Socket, head));
  server.maxConnections = mostConnections;
  const connections = new OpenConnections(server);
  const endRenewals = certificates.observe(() => server.setSecureContext(contextOf(certificates.serving())));
  const at = listen.lastIndexOf(':');
  const host = listen.slice(0, at).replace(/^\[|\]$/g, '');
  server.listen(Number(listen.slice(at + 1)), host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const address = `${listen.slice(0, at)}:${port}`;
  log.info({ address }, "the API server is listening for Kubernetes' clients");
  return {
    address,
    port,
    async drain(graceMs) {
      endRenewals();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      connections.end();
      const timer = setTimeout(() => connections.cut(), graceMs);
      await closed;
      clearTimeout(timer);
    },
  };
}

const contextOf = ({ certificate, key, ca }: ServingIdentity) => ({ cert: certificate, key, ca });

function createServer(identity: ServingIdentity, door: HttpDoor): Http2SecureServer {
  return createSecureServer(
    {
      ...contextOf(identity),
      allowHTTP1: true,
      minVersion: 'TLSv1.2',
      requestCert: true,
      rejectUnauthorized: false,
      handshakeTimeout: headersMs,
      maxHeaderSize: mostHeaderBytes,
      headersTimeout: headersMs,
      settings: { maxConcurrentStreams: 250, maxHeaderListSize: mostHeaderBytes },
      maxSessionMemory: 64,
    } as Parameters<typeof createSecureServer>[0],
    (request, response) => door.handle(request, response as unknown as ServerResponse),
  );
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
