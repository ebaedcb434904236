import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { experimental, Server, type ServerCredentials } from '@grpc/grpc-js';
import type { ServerPki } from '../auth/pki.ts';

/** The one port: TLS always, a client certificate asked for but not required, so that bearer tokens come in as well. */
export function serverCredentials(pki: ServerPki): ServerCredentials {
  const identity = { certificate: Buffer.from(pki.server.certificate), privateKey: Buffer.from(pki.server.key) };
  const ca = { caCertificate: Buffer.from(pki.ca) };
  // Later, as grpc-js expects: the listener is added before the server that it tells.
  const provider = {
    addCaCertificateListener: (listener: (update: typeof ca) => void) => process.nextTick(listener, ca),
    removeCaCertificateListener: () => {},
    addIdentityCertificateListener: (listener: (update: typeof identity) => void) => process.nextTick(listener, identity),
    removeIdentityCertificateListener: () => {},
  };
  return experimental.createCertificateProviderServerCredentials(provider, provider, false);
}

/** Objects have at most 1 MiB and pages 2 MiB; the rest is room for what stands around them. */
const MAX_RECEIVE_BYTES = 4 * 1024 * 1024;
const MAX_SEND_BYTES = 8 * 1024 * 1024;

/** A server that notices dead peers and bounds what one connection may ask for. */
export function createGrpcServer(): Server {
  return new Server({
    'grpc.max_receive_message_length': MAX_RECEIVE_BYTES,
    'grpc.max_send_message_length': MAX_SEND_BYTES,
    'grpc.max_concurrent_streams': 1_000,
    'grpc.keepalive_time_ms': 30_000,
    'grpc.keepalive_timeout_ms': 15_000,
    'grpc.max_connection_idle_ms': 30 * 60_000,
    'grpc.enable_channelz': 0,
  });
}

/** Connections that have not finished their TLS handshake: no call can be on them, and grpc-js waits for them for ever. */
const unfinished = new WeakMap<Server, Map<string, Socket>>();

/** Listens and answers the port, which matters when 0 was asked for. */
export function listen(server: Server, address: string, credentials: ServerCredentials): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, port) => {
      if (error) return reject(new Error(`cannot listen on ${address}: ${error.message}`, { cause: error }));
      followHandshakes(server);
      resolve(port);
    });
  });
}

/** grpc-js does not offer its HTTP/2 servers, so they may be missing in a later version; a stop may take longer then. */
function followHandshakes(server: Server): void {
  const sockets = new Map<string, Socket>();
  unfinished.set(server, sockets);
  const peer = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress}|${remotePort}`;
  const { http2Servers } = server as unknown as { http2Servers?: ReadonlyMap<EventEmitter, unknown> };
  for (const http2 of http2Servers?.keys() ?? []) {
    http2.on('connection', (socket: Socket) => {
      const key = peer(socket);
      sockets.set(key, socket);
      socket.once('close', () => sockets.delete(key));
    });
    http2.on('secureConnection', (socket: Socket) => sockets.delete(peer(socket)));
  }
}

/** Lets running calls end for so long, then cuts them. */
export function drain(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.forceShutdown(), graceMs);
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
    for (const socket of unfinished.get(server)?.values() ?? []) socket.destroy();
  });
}
