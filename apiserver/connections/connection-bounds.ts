import { X509Certificate } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import { chmod } from 'node:fs/promises';
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { MetricsRegistry } from '../../api/metrics/index.ts';
import { isIdentified } from '../calls/identify.ts';
import { TokenBuckets } from '../limits/token-buckets.ts';
import { splitListen } from '../listen-address.ts';
import { apiserverMetrics } from '../metrics.ts';
import { afterFrames } from './after-frames.ts';
import { floodCodes, handshakeRefusal, plainAnswer } from './answers.ts';
import { type Connection, type ConnectionLimits, ConnectionTable, defaultConnectionLimits, peerOf } from './connection-table.ts';
import type { RefusalReason, Refusals } from './refusals.ts';
import { defaultUnknownStreamLimits, type UnknownStreamLimits, UnknownStreams } from './unknown-streams.ts';

export interface ListenerLimits extends ConnectionLimits {
  /** How long a client may take for its TLS handshake. */
  readonly handshakeMs: number;
  /** How long a client may take after its handshake to begin with HTTP. */
  readonly prefaceMs: number;
  /** How long a client may take for the end of an answer, over HTTP. */
  readonly answerMs: number;
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
  answerMs: 30_000,
  rate: 100,
  burst: 1_000,
  streams: defaultUnknownStreamLimits,
};

export interface ConnectionBoundsOptions {
  readonly limits?: Partial<ListenerLimits> | undefined;
  readonly metrics: MetricsRegistry;
  readonly refusals: Refusals;
}

/** A connection, from its first packet on. */
export class Incoming implements Connection {
  readonly peer: string;
  readonly socket: Socket;
  /** Once the handshake is over. */
  tls: TLSSocket | undefined;
  /** Of HTTP/2. */
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
    const key = this.session ?? this.tls;
    this.#isKnown ||= key !== undefined && isIdentified({ key, socket: (this.session?.socket ?? this.tls) as TLSSocket });
    return this.#isKnown;
  }

  close(): void {
    const { session, socket } = this;
    if (session)
      afterFrames(() => {
        session.destroy();
        socket.destroy();
      });
    else socket.destroy();
  }
}

/** Where a socket and what TLS and HTTP/2 make of it are the same connection. */
const endsOf = ({ remoteAddress, remotePort, localPort }: Socket): string => `${remoteAddress}|${remotePort}|${localPort}`;

let localConnections = 0;

/** A connection over a socket of the file system has no addresses: these tell it from the others. */
function withEnds(socket: Socket): Socket {
  return Object.defineProperties(socket, { remoteAddress: { value: 'local' }, remotePort: { value: ++localConnections } });
}

/**
 * What the connections of the whole server may be, whichever door they came through: how many, how fast, and how many
 * streams those have that have not authenticated.
 */
export class ConnectionBounds {
  readonly limits: ListenerLimits;
  readonly refusals: Refusals;
  readonly table: ConnectionTable<Incoming>;
  readonly streams: UnknownStreams<Incoming>;
  readonly rates: TokenBuckets;

  constructor({ limits, metrics, refusals }: ConnectionBoundsOptions) {
    this.limits = { ...defaultListenerLimits, ...limits };
    this.refusals = refusals;
    this.table = new ConnectionTable(this.limits);
    this.streams = new UnknownStreams(this.limits.streams);
    this.rates = new TokenBuckets(this.limits, () => performance.now());
    metrics.read(apiserverMetrics.connections, () => this.#count());
    metrics.read(apiserverMetrics.unknownStreams, () => this.streams.total);
  }

  #count(): { readonly labels: readonly string[]; readonly value: number }[] {
    let known = 0;
    for (const each of this.table) if (each.isKnown()) known++;
    return [
      { labels: ['known'], value: known },
      { labels: ['unknown'], value: this.table.size - known },
    ];
  }

  /**
   * Ends the connections of clients whose certificate none of these authorities (PEM, one each) signed, and those of
   * which it is not known yet.
   */
  endUntrusted(authorities: readonly string[]): void {
    const keys = authorities.map((each) => new X509Certificate(each).publicKey);
    for (const each of [...this.table]) {
      const shown = each.tls?.authorized ? each.tls.getPeerX509Certificate?.() : undefined;
      if (!each.tls || (shown && !keys.some((key) => shown.verify(key)))) each.close();
    }
  }
}

/** Whom a door hands its connections to. */
export interface DoorTransport {
  /** What emits the events of node:http2 for its connections. */
  readonly events: EventEmitter;
  /** Begins the TLS handshake. */
  readonly inject: (socket: Socket) => void;
  /** Whether HTTP/1.1 is spoken as well. */
  readonly hasHttp1?: true;
}

/**
 * The connections of one door: takes them, as many as the bounds allow, and gives them to its TLS and HTTP, which bound
 * neither how many there are nor how long they take. One for all addresses of the door.
 */
export class DoorConnections {
  readonly #bounds: ConnectionBounds;
  readonly #transport: DoorTransport;
  readonly #own = new Set<Incoming>();
  readonly #byEnds = new Map<string, Incoming>();
  readonly #bySession = new WeakMap<ServerHttp2Session, Incoming>();
  readonly #listening: NetServer[] = [];

  constructor(bounds: ConnectionBounds, transport: DoorTransport) {
    this.#bounds = bounds;
    this.#transport = transport;
    this.#follow(transport.events);
  }

  [Symbol.iterator](): Iterator<Incoming> {
    return [...this.#own].values();
  }

  /** Listens and returns the port, for a requested port of 0. */
  open(address: string): Promise<number> {
    const { host, port } = splitListen(address);
    const listening = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 }, (socket) =>
      this.#accept(socket),
    );
    return new Promise((resolve, reject) => {
      listening.once('error', (error) => reject(new Error(`cannot listen on ${address}: ${error.message}`, { cause: error })));
      listening.listen({ host, port, backlog: 1_024 }, () => {
        this.#listening.push(listening);
        resolve((listening.address() as AddressInfo).port);
      });
    });
  }

  /** The same at a socket of the file system, which is this process's user's alone. Its connections are one peer's. */
  openLocal(path: string): Promise<void> {
    const listening = createServer((socket) => this.#accept(withEnds(socket)));
    return new Promise((resolve, reject) => {
      listening.once('error', reject);
      listening.listen({ path, backlog: 1_024 }, () => {
        this.#listening.push(listening);
        chmod(path, 0o600).then(resolve, reject);
      });
    });
  }

  /** Takes no new connections. */
  close(): void {
    for (const each of this.#listening) each.close();
  }

  /** The connection that a session or a socket of TLS is of. */
  of(socket: Socket): Incoming | undefined {
    return this.#byEnds.get(endsOf(socket));
  }

  /** Counts a stream, or request, of an unauthenticated connection until `source` closes. */
  streamBegun(incoming: Incoming, source: EventEmitter): void {
    const { streams, refusals } = this.#bounds;
    const evicted = streams.begin(incoming);
    if (evicted) {
      refusals.note('stream-limit', evicted.peer);
      evicted.close();
    }
    if (!incoming.isKnown()) source.once('close', () => streams.end(incoming));
  }

  /** Ends a connection unless its next step comes in time. */
  within(incoming: Incoming, ms: number, reason?: RefusalReason): void {
    clearTimeout(incoming.timer);
    incoming.timer = setTimeout(() => {
      if (reason) this.#bounds.refusals.note(reason, incoming.peer);
      incoming.close();
    }, ms);
  }

  #accept(socket: Socket): void {
    const { table, streams, refusals } = this.#bounds;
    const incoming = new Incoming(socket);
    // TLS tells of what matters.
    socket.on('error', () => {});
    const { admitted, evicted, limit } = table.admit(incoming);
    if (limit) refusals.note(`${limit}-limit`, incoming.peer);
    evicted?.close();
    if (!admitted) {
      socket.resetAndDestroy();
      return;
    }
    const ends = endsOf(socket);
    this.#own.add(incoming);
    this.#byEnds.set(ends, incoming);
    socket.once('close', () => {
      clearTimeout(incoming.timer);
      this.#own.delete(incoming);
      table.leave(incoming);
      streams.forget(incoming);
      if (this.#byEnds.get(ends) === incoming) this.#byEnds.delete(ends);
    });
    this.#begin(incoming);
  }

  /** Hands a connection on when its address has not had too many of late; it waits until then. */
  #begin(incoming: Incoming): void {
    const { socket, peer } = incoming;
    const waitMs = this.#bounds.rates.take(peer);
    if (waitMs > 0) {
      this.#bounds.refusals.note('connection-rate', peer);
      incoming.timer = setTimeout(() => this.#begin(incoming), waitMs);
      return;
    }
    this.within(incoming, this.#bounds.limits.handshakeMs, 'handshake-timeout');
    this.#transport.inject(socket);
  }

  #follow(events: EventEmitter): void {
    const { refusals } = this.#bounds;
    const { hasHttp1 } = this.#transport;
    events.on('secureConnection', (socket: TLSSocket) => {
      const incoming = this.of(socket);
      if (!incoming) return;
      incoming.tls = socket;
      if (socket.alpnProtocol === 'h2' || !hasHttp1) return;
      this.within(incoming, this.#bounds.limits.prefaceMs, 'preface-timeout');
    });
    events.on('session', (session: ServerHttp2Session) => this.#begun(session));
    events.on('stream', (stream: ServerHttp2Stream) => {
      const incoming = this.#bySession.get(stream.session as ServerHttp2Session);
      if (incoming) this.streamBegun(incoming, stream);
    });
    events.on('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
      const reason = handshakeRefusal(error);
      if (reason === undefined) return;
      refusals.note(reason, peerOf(socket.remoteAddress), reason === 'tls' ? error.code : undefined);
      if (reason === 'plaintext') this.of(socket)?.socket.write(plainAnswer);
    });
    events.on('unknownProtocol', (socket: TLSSocket) => {
      refusals.note('not-http2', peerOf(socket.remoteAddress));
      socket.end(plainAnswer);
    });
    events.on('sessionError', (error: NodeJS.ErrnoException, session: ServerHttp2Session) => {
      const reason = floodCodes.has(error.errno ?? 0) ? 'flood' : error.code === 'ERR_HTTP2_ERROR' ? 'protocol' : undefined;
      if (reason) refusals.note(reason, this.#bySession.get(session)?.peer ?? 'unknown', error.message);
    });
  }

  #begun(session: ServerHttp2Session): void {
    const incoming = this.of(session.socket as Socket);
    if (!incoming) return;
    incoming.session = session;
    this.#bySession.set(session, incoming);
    this.within(incoming, this.#bounds.limits.prefaceMs, 'preface-timeout');
    session.once('remoteSettings', () => clearTimeout(incoming.timer));
  }
}
