import { X509Certificate } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Server } from '@grpc/grpc-js';
import type { MetricsRegistry } from '../../../api/metrics/index.ts';
import { TokenBuckets } from '../../limits/token-buckets.ts';
import { apiserverMetrics } from '../../metrics.ts';
import { isIdentified } from '../caller.ts';
import { floodCodes, handshakeRefusal, plainAnswer } from './answers.ts';
import { type Connection, type ConnectionLimits, ConnectionTable, defaultConnectionLimits, peerOf } from './connection-table.ts';
import type { ListenerCredentials } from './credentials.ts';
import type { RefusalReason, Refusals } from './refusals.ts';
import { defaultUnknownStreamLimits, type UnknownStreamLimits, UnknownStreams } from './unknown-streams.ts';

export interface ListenerLimits extends ConnectionLimits {
  /** How long a client may take for its TLS handshake. */
  readonly handshakeMs: number;
  /** How long a client may take after its handshake to begin with HTTP/2. */
  readonly prefaceMs: number;
  /**
   * New connections in a second from one address, in the long run: a handshake costs about a millisecond of the one
   * thread.
   */
  readonly rate: number;
  /** So many at once after a pause. */
  readonly burst: number;
  /** Open streams of connections that have not authenticated. */
  readonly streams: UnknownStreamLimits;
}

/** Ten seconds are enough over the slowest line that could carry a watch. */
export const defaultListenerLimits: ListenerLimits = {
  ...defaultConnectionLimits,
  handshakeMs: 10_000,
  prefaceMs: 10_000,
  rate: 100,
  burst: 1_000,
  streams: defaultUnknownStreamLimits,
};

export interface ListenerOptions {
  readonly credentials: ListenerCredentials;
  readonly limits?: Partial<ListenerLimits>;
  readonly metrics: MetricsRegistry;
  readonly refusals: Refusals;
}

class Incoming implements Connection {
  readonly peer: string;
  readonly socket: Socket;
  session: ServerHttp2Session | undefined;
  /** Ends the connection when its next step does not come. */
  timer: NodeJS.Timeout | undefined;
  #isKnown = false;

  constructor(socket: Socket) {
    this.socket = socket;
    this.peer = peerOf(socket.remoteAddress);
  }

  /** With each stream: what authenticates once stays so. */
  isKnown(): boolean {
    this.#isKnown ||= this.session !== undefined && isIdentified(this.session);
    return this.#isKnown;
  }
}

/** Where a socket and what TLS and HTTP/2 make of it are the same connection. */
const endsOf = ({ remoteAddress, remotePort, localPort }: Socket): string => `${remoteAddress}|${remotePort}|${localPort}`;

/** What grpc-js knows of its HTTP/2 servers. It does not offer this. */
type Http2Servers = ReadonlyMap<EventEmitter, { readonly sessions?: Set<ServerHttp2Session> }>;

/**
 * The server's listener: takes connections, as many as the limits allow, and gives them to the TLS and HTTP/2 of
 * grpc-js, which bounds neither how many there are nor how long they take. One for all addresses.
 */
export class Listener {
  readonly #server: Server;
  readonly #limits: ListenerLimits;
  readonly #refusals: Refusals;
  readonly #table: ConnectionTable<Incoming>;
  readonly #byEnds = new Map<string, Incoming>();
  readonly #bySession = new WeakMap<ServerHttp2Session, Incoming>();
  readonly #streams: UnknownStreams<Incoming>;
  readonly #rates: TokenBuckets;
  readonly #inject: (socket: Socket) => void;
  readonly #http2: EventEmitter;
  readonly #listening: NetServer[] = [];

  constructor(server: Server, { credentials, limits, metrics, refusals }: ListenerOptions) {
    this.#server = server;
    this.#limits = { ...defaultListenerLimits, ...limits };
    this.#refusals = refusals;
    this.#table = new ConnectionTable(this.#limits);
    this.#streams = new UnknownStreams(this.#limits.streams);
    this.#rates = new TokenBuckets(this.#limits, () => performance.now());
    const injector = server.createConnectionInjector(credentials);
    this.#inject = (socket) => injector.injectConnection(socket);
    const http2 = [...http2ServersOf(server).keys()].at(-1);
    if (!http2) throw new Error('this version of grpc-js does not show its HTTP/2 server: its connections could not be bounded');
    this.#http2 = http2;
    this.#follow(http2);
    metrics.read(apiserverMetrics.connections, () => this.#count());
    metrics.read(apiserverMetrics.unknownStreams, () => this.#streams.total);
  }

  /** Listens and returns the port, for a requested port of 0. */
  open(address: string): Promise<number> {
    const at = address.lastIndexOf(':');
    const host = address.slice(0, at).replace(/^\[|\]$/g, '');
    const listening = createServer({ noDelay: true }, (socket) => this.#accept(socket));
    return new Promise((resolve, reject) => {
      listening.once('error', (error) => reject(new Error(`cannot listen on ${address}: ${error.message}`, { cause: error })));
      listening.listen({ host, port: Number(address.slice(at + 1)), backlog: 1_024 }, () => {
        this.#listening.push(listening);
        resolve((listening.address() as AddressInfo).port);
      });
    });
  }

  #accept(socket: Socket): void {
    const incoming = new Incoming(socket);
    // TLS tells of what matters.
    socket.on('error', () => {});
    const { admitted, evicted, limit } = this.#table.admit(incoming);
    if (limit) this.#refusals.note(`${limit}-limit`, incoming.peer);
    if (evicted) close(evicted);
    if (!admitted) {
      socket.resetAndDestroy();
      return;
    }
    const ends = endsOf(socket);
    this.#byEnds.set(ends, incoming);
    socket.once('close', () => {
      clearTimeout(incoming.timer);
      this.#table.leave(incoming);
      this.#streams.forget(incoming);
      if (this.#byEnds.get(ends) === incoming) this.#byEnds.delete(ends);
    });
    this.#begin(incoming);
  }

  /** Hands a connection on when its address has not had too many of late; it waits until then. */
  #begin(incoming: Incoming): void {
    const { socket, peer } = incoming;
    const waitMs = this.#rates.take(peer);
    if (waitMs > 0) {
      this.#refusals.note('connection-rate', peer);
      incoming.timer = setTimeout(() => this.#begin(incoming), waitMs);
      return;
    }
    this.#within(incoming, this.#limits.handshakeMs, 'handshake-timeout');
    this.#inject(socket);
  }

  #within(incoming: Incoming, ms: number, reason: RefusalReason): void {
    clearTimeout(incoming.timer);
    incoming.timer = setTimeout(() => {
      this.#refusals.note(reason, incoming.peer);
      close(incoming);
    }, ms);
  }

  #follow(http2: EventEmitter): void {
    http2.on('session', (session: ServerHttp2Session) => this.#begun(session));
    http2.on('stream', (stream: ServerHttp2Stream) => this.#streamBegun(stream));
    http2.on('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
      const reason = handshakeRefusal(error);
      if (reason === undefined) return;
      const incoming = this.#byEnds.get(endsOf(socket));
      this.#refusals.note(reason, peerOf(socket.remoteAddress), reason === 'tls' ? error.code : undefined);
      if (reason === 'plaintext') incoming?.socket.write(plainAnswer);
    });
    http2.on('unknownProtocol', (socket: TLSSocket) => {
      this.#refusals.note('not-http2', peerOf(socket.remoteAddress));
      socket.end(plainAnswer);
    });
    http2.on('sessionError', (error: NodeJS.ErrnoException, session: ServerHttp2Session) => {
      const reason = floodCodes.has(error.errno ?? 0) ? 'flood' : error.code === 'ERR_HTTP2_ERROR' ? 'protocol' : undefined;
      if (reason) this.#refusals.note(reason, this.#bySession.get(session)?.peer ?? 'unknown', error.message);
    });
  }

  #begun(session: ServerHttp2Session): void {
    const incoming = this.#byEnds.get(endsOf(session.socket as Socket));
    if (!incoming) return;
    incoming.session = session;
    this.#bySession.set(session, incoming);
    this.#within(incoming, this.#limits.prefaceMs, 'preface-timeout');
    session.once('remoteSettings', () => clearTimeout(incoming.timer));
  }

  /** Counts the streams of unauthenticated connections; the pipeline bounds those of the others. */
  #streamBegun(stream: ServerHttp2Stream): void {
    const incoming = this.#bySession.get(stream.session as ServerHttp2Session);
    if (!incoming) return;
    const evicted = this.#streams.begin(incoming);
    if (evicted) {
      this.#refusals.note('stream-limit', evicted.peer);
      close(evicted);
    }
    if (!incoming.isKnown()) stream.once('close', () => this.#streams.end(incoming));
  }

  #count(): { readonly labels: readonly string[]; readonly value: number }[] {
    let known = 0;
    for (const each of this.#table) if (each.isKnown()) known++;
    return [
      { labels: ['known'], value: known },
      { labels: ['unknown'], value: this.#table.size - known },
    ];
  }

  /**
   * Ends the connections of clients whose certificate none of these authorities (PEM, one each) signed, and those of
   * which it is not known yet.
   */
  endUntrusted(authorities: readonly string[]): void {
    const keys = authorities.map((each) => new X509Certificate(each).publicKey);
    for (const each of [...this.#table]) {
      const socket = each.session?.socket as Partial<TLSSocket> | undefined;
      const shown = socket?.authorized ? socket.getPeerX509Certificate?.() : undefined;
      if (!each.session || (shown && !keys.some((key) => shown.verify(key)))) close(each);
    }
  }

  /** Takes no new connections and calls, tells the clients so, lets running calls end for so long, then cuts them. */
  drain(graceMs: number): Promise<void> {
    for (const each of this.#listening) each.close();
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#server.forceShutdown();
        for (const each of this.#table) each.session?.destroy(undefined, constants.NGHTTP2_CANCEL);
      }, graceMs);
      this.#forgetDestroyed();
      this.#server.tryShutdown(() => {
        clearTimeout(timer);
        resolve();
      });
      // Those that have not finished their handshake: no call can be on them.
      for (const each of this.#table) if (!each.session) each.socket.destroy();
    });
  }

  /**
   * grpc-js closes every session and waits for its close event. Node.js never emits that for a session that was just
   * destroyed and has not emitted it yet, such as one of a silent client: the stop would never complete.
   */
  #forgetDestroyed(): void {
    const sessions = http2ServersOf(this.#server).get(this.#http2)?.sessions;
    for (const session of sessions ?? []) if (session.destroyed) sessions?.delete(session);
  }
}

const http2ServersOf = (server: Server): Http2Servers =>
  (server as unknown as { http2Servers?: Http2Servers }).http2Servers ?? new Map();

function close({ session, socket }: Incoming): void {
  session?.destroy();
  socket.destroy();
}
