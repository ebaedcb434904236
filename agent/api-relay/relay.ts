import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { wordsOf } from '../words-of.ts';
import { Gate, type GateLimits, type GateOptions, type GateRefusal } from './gate.ts';

export interface RelayLimits extends GateLimits {
  /** How long the server may take to accept a connection. */
  readonly dialMs: number;
  /** After one side has ended, a connection that moves no byte for so long is closed. */
  readonly halfClosedMs: number;
  /** A connection that is silent is checked after so long; a dead one ends ten seconds later. */
  readonly keepAliveMs: number;
}

/**
 * To the server all of them come from the node's address, as the agent's own connections and those of `berth` there do.
 * It allows an address 1,000 connections that have not authenticated, and 100 new ones a second after a burst of 1,000
 * (apiserver/rpc/listener): pods get half of that at most.
 */
export const defaultRelayLimits: RelayLimits = {
  maxConnections: 500,
  maxConnectionsPerSource: 64,
  perSecond: 40,
  burst: 400,
  perSecondPerSource: 10,
  burstPerSource: 100,
  reservedPerSecond: 10,
  reservedBurst: 100,
  dialMs: 10_000,
  halfClosedMs: 60_000,
  keepAliveMs: 60_000,
};

/** Why a connection is not passed on; "server": the server cannot be reached. */
export type Refusal = GateRefusal | 'server';

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/** Where connections are passed on to; read for each of them. Undefined: that is not known, and they are refused. */
export type RelayTarget = () => ServerAddress | undefined;

export interface RelayOptions extends Omit<GateOptions, 'onCut'> {
  /** The address to bind, and no other, at a free port for each target. */
  readonly address: string;
  readonly targets: readonly RelayTarget[];
  /** For the connections to all targets together, as all of them arrive at one server. */
  readonly limits: RelayLimits;
  /** For each connection that is not passed on, or is cut. */
  onRefused(reason: Refusal, source: string, why?: string): void;
}

export interface Relay {
  /** Those of the targets, in their order. */
  readonly ports: readonly number[];
  /** Connections that are passed on. */
  open(): number;
  /** Rejects when a listener fails; resolves after `close`. */
  readonly ended: Promise<void>;
  /** Ends all connections. */
  close(): void;
}

/**
 * Passes connections on to the API server, byte by byte: TLS is between the client and the server. Rejects when it
 * cannot bind.
 */
export async function startRelay(options: RelayOptions): Promise<Relay> {
  // What is cut is not of the gate any more, and still has to close.
  const pairs = new Set<Pair>();
  const gate = new Gate<Pair>({ ...options, onCut: (source) => options.onRefused('cut', source) });
  const accept = (client: Socket, target: RelayTarget): void => {
    const source = client.remoteAddress ?? '';
    const to = target();
    const refusal = to === undefined ? 'server' : gate.enter(source);
    if (to === undefined || refusal !== undefined) {
      client.on('error', () => {});
      client.resetAndDestroy();
      options.onRefused(refusal ?? 'server', source, to === undefined ? 'where it listens is not known yet' : undefined);
      return;
    }
    const pair = new Pair(client, source, to, options);
    pairs.add(pair);
    gate.add(source, pair);
    void pair.closed.then(() => {
      pairs.delete(pair);
      gate.leave(source, pair);
    });
  };
  const listeners: Server[] = [];
  const close = (): void => {
    for (const each of listeners) each.close();
    for (const pair of pairs) pair.reset();
  };
  try {
    for (const target of options.targets) listeners.push(await listen(options.address, (client) => accept(client, target)));
  } catch (error) {
    close();
    throw error;
  }
  const ended = Promise.all(listeners.map(endOf)).then(() => {});
  ended.catch(close);
  return { ports: listeners.map((each) => (each.address() as AddressInfo).port), open: () => pairs.size, ended, close };
}

async function listen(address: string, accept: (client: Socket) => void): Promise<Server> {
  const listener = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, accept);
  listener.listen(0, address);
  await once(listener, 'listening');
  return listener;
}

const endOf = (listener: Server): Promise<void> =>
  new Promise((resolve, reject) => {
    listener.once('close', resolve);
    listener.once('error', reject);
  });

/** One connection of a client and its other half, to the server. */
class Pair {
  readonly #client: Socket;
  readonly #server: Socket;
  /** When both halves are closed. */
  readonly closed: Promise<unknown>;

  constructor(client: Socket, source: string, to: ServerAddress, { limits, onRefused }: RelayOptions) {
    const server = connect({ ...to, allowHalfOpen: true, noDelay: true });
    this.#client = client;
    this.#server = server;
    this.closed = Promise.all([client, server].map((socket) => new Promise((resolve) => socket.once('close', resolve))));
    const refuse = (why: string): void => {
      this.reset();
      onRefused('server', source, why);
    };
    const late = setTimeout(() => refuse(`${to.host}:${to.port} does not answer`), limits.dialMs);
    const onDialError = (error: Error): void => refuse(wordsOf(error));
    server.once('error', onDialError);
    server.once('connect', () => {
      clearTimeout(late);
      server.off('error', onDialError);
      this.#join(limits);
    });
    // A client that goes before, and whatever ends the pair.
    server.once('close', () => clearTimeout(late));
    client.on('error', () => this.reset());
    server.on('error', () => this.reset());
    client.once('close', () => this.#closed(client, server));
    server.once('close', () => this.#closed(server, client));
  }

  /** Ends both halves at once, and so that each end sees that it was cut off. */
  reset(): void {
    for (const socket of [this.#client, this.#server]) cut(socket);
  }

  /** Passes on bytes as fast as the slower side takes them, and the end of each side by itself. */
  #join({ halfClosedMs, keepAliveMs }: RelayLimits): void {
    for (const [from, to] of [
      [this.#client, this.#server],
      [this.#server, this.#client],
    ] as const) {
      from.setKeepAlive(true, keepAliveMs);
      from.once('end', () => {
        for (const socket of [from, to]) socket.setTimeout(halfClosedMs, () => this.reset());
      });
      from.pipe(to);
    }
  }

  /** One half is closed. When it was in order, the other still has to send what is left, and closes by itself. */
  #closed(half: Socket, other: Socket): void {
    if (!half.readableEnded || !half.writableFinished) cut(other);
  }
}

/** One that is not connected yet would wait for that to be reset. */
function cut(socket: Socket): void {
  if (socket.destroyed) return;
  if (socket.connecting) socket.destroy();
  else socket.resetAndDestroy();
}
