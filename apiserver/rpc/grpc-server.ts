import type { EventEmitter } from 'node:events';
import { constants, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { experimental, Server, type ServerCredentials } from '@grpc/grpc-js';
import type { ServerPki } from '../auth/pki.ts';
import { refuseMalformed } from './malformed-calls.ts';

/** The one port: TLS always, a client certificate asked for but not required, so that bearer tokens come in as well. New connections get what is renewed. */
export function serverCredentials({ certificates }: Pick<ServerPki, 'certificates'>): ServerCredentials {
  const ends = new Map<object, () => void>();
  const follow = <T extends object>(listener: (update: T) => void, read: () => T): void => {
    const tell = (): void => listener(read());
    ends.set(listener, certificates.observe(tell));
    // Later, as grpc-js expects: the listener is added before the server that it tells.
    process.nextTick(tell);
  };
  const end = (listener: object): void => {
    ends.get(listener)?.();
    ends.delete(listener);
  };
  const identity = () => {
    const { certificate, key } = certificates.serving();
    return { certificate: Buffer.from(certificate), privateKey: Buffer.from(key) };
  };
  const ca = () => ({ caCertificate: Buffer.from(certificates.serving().ca) });
  const provider = {
    addCaCertificateListener: (listener: (update: ReturnType<typeof ca>) => void) => follow(listener, ca),
    removeCaCertificateListener: end,
    addIdentityCertificateListener: (listener: (update: ReturnType<typeof identity>) => void) => follow(listener, identity),
    removeIdentityCertificateListener: end,
  };
  return experimental.createCertificateProviderServerCredentials(provider, provider, false);
}

/** Objects have at most 1 MiB and pages 2 MiB; the rest is room for what stands around them. */
const MAX_RECEIVE_BYTES = 4 * 1024 * 1024;
const MAX_SEND_BYTES = 8 * 1024 * 1024;

/** How soon a connection that went silent is given up: a ping after so long without a word, and so long for its answer. */
export interface Keepalive {
  readonly timeMs: number;
  readonly timeoutMs: number;
}

const defaultKeepalive: Keepalive = { timeMs: 30_000, timeoutMs: 15_000 };

/** A server that notices dead peers and bounds what one connection may ask for. */
export function createGrpcServer(keepalive: Keepalive = defaultKeepalive): Server {
  return new Server({
    'grpc.max_receive_message_length': MAX_RECEIVE_BYTES,
    'grpc.max_send_message_length': MAX_SEND_BYTES,
    'grpc.max_concurrent_streams': 1_000,
    'grpc.keepalive_time_ms': keepalive.timeMs,
    'grpc.keepalive_timeout_ms': keepalive.timeoutMs,
    'grpc.max_connection_idle_ms': 30 * 60_000,
    'grpc.enable_channelz': 0,
    interceptors: [refuseMalformed],
  });
}

/** What of a server's connections a stop must know itself. */
interface Connections {
  /** Those that have not finished their TLS handshake: no call can be on them, and grpc-js waits for them for ever. */
  readonly unfinished: Map<string, Socket>;
  /** The others: without channelz, grpc-js does not remember those that `forceShutdown` is to cut. */
  readonly sessions: Set<ServerHttp2Session>;
  /** Those of its HTTP/2 servers that are listened to: it has one for each address. */
  readonly followed: Set<EventEmitter>;
}

/** What grpc-js knows of each of its HTTP/2 servers. It does not offer this, so it may be missing in a later version. */
type Http2Servers = ReadonlyMap<EventEmitter, { readonly sessions?: Set<ServerHttp2Session> }>;

const http2ServersOf = (server: Server): Http2Servers =>
  (server as unknown as { http2Servers?: Http2Servers }).http2Servers ?? new Map();

const connections = new WeakMap<Server, Connections>();

/** Listens and answers the port, which matters when 0 was asked for. */
export function listen(server: Server, address: string, credentials: ServerCredentials): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, port) => {
      if (error) return reject(new Error(`cannot listen on ${address}: ${error.message}`, { cause: error }));
      followConnections(server);
      resolve(port);
    });
  });
}

/** Where grpc-js does not tell of its HTTP/2 servers, a stop may take longer. */
function followConnections(server: Server): void {
  const { unfinished, sessions, followed } = connections.get(server) ?? {
    unfinished: new Map<string, Socket>(),
    sessions: new Set<ServerHttp2Session>(),
    followed: new Set<EventEmitter>(),
  };
  connections.set(server, { unfinished, sessions, followed });
  const peer = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress}|${remotePort}`;
  for (const http2 of http2ServersOf(server).keys()) {
    if (followed.has(http2)) continue;
    followed.add(http2);
    http2.on('connection', (socket: Socket) => {
      const key = peer(socket);
      unfinished.set(key, socket);
      socket.once('close', () => unfinished.delete(key));
    });
    http2.on('secureConnection', (socket: Socket) => unfinished.delete(peer(socket)));
    http2.on('session', (session: ServerHttp2Session) => {
      sessions.add(session);
      session.once('close', () => sessions.delete(session));
    });
  }
}

/** Takes no new calls and tells the clients so, lets running ones end for so long, then cuts them. */
export function drain(server: Server, graceMs: number): Promise<void> {
  const { unfinished, sessions } = connections.get(server) ?? { unfinished: new Map<string, Socket>(), sessions: new Set() };
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      server.forceShutdown();
      for (const session of sessions) session.destroy(undefined, constants.NGHTTP2_CANCEL);
    }, graceMs);
    forgetDestroyed(server);
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
    for (const socket of unfinished.values()) socket.destroy();
  });
}

/**
 * grpc-js asks every session to close and waits for the word that it has, which Node.js never gives of one that was destroyed a moment before
 * and has not said so yet, as those of clients that went silent: the stop would wait for ever.
 */
function forgetDestroyed(server: Server): void {
  for (const { sessions } of http2ServersOf(server).values()) {
    for (const session of sessions ?? []) if (session.destroyed) sessions?.delete(session);
  }
}
