import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
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

export interface RelayOptions extends Omit<GateOptions, 'onCut'> {
  /** The address to bind, and no other. 0 takes a free port. */
  readonly address: string;
  readonly port: number;
  readonly server: { readonly host: string; readonly port: number };
  readonly limits: RelayLimits;
  /** For each connection that is not passed on, or is cut. */
  onRefused(reason: Refusal, source: string, why?: string): void;
}

export interface Relay {
  readonly port: number;
  /** Connections that are passed on. */
  open(): number;
  /** Rejects when the listener fails; resolves after `close`. */
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
  const listener = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (client) => {
    const source = client.remoteAddress ?? '';
    const refusal = gate.enter(source);
    if (refusal !== undefined) {
      client.on('error', () => {});
      client.resetAndDestroy();
      options.onRefused(refusal, source);
      return;
    }
    const pair = new Pair(client, source, options);
    pairs.add(pair);
    gate.add(source, pair);
    void pair.closed.then(() => {
      pairs.delete(pair);
      gate.leave(source, pair);
    });
  });
  listener.listen(options.port, options.address);
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const ended = new Promise<void>((resolve, reject) => {
    listener.once('close', resolve);
    listener.once('error', reject);
  });
  const close = (): void => {
    listener.close();
    for (const pair of pairs) pair.reset();
  };
  ended.catch(close);
  return { port, open: () => pairs.size, ended, close };
}

/** One connection of a client and its other half, to the server. */
class Pair {
  readonly #client: Socket;
  readonly #server: Socket;
  /** When both halves are closed. */
  readonly closed: Promise<unknown>;

  constructor(client: Socket, source: string, { server: to, limits, onRefused }: RelayOptions) {
    const server = connect({ ...to, allowHalfOpen: true, noDelay: true });
    this.#client = client;
    this.#server = server;
    this.closed = Promise.all([client, server].map((socket) => new Promise((resolve) => socket.once('close', resolve))));
    const refuse = (why: string): void => {
      this.reset();
      onRefused('server', source, why);
    };
    const late = setTimeout(() => refuse('it does not answer'), limits.dialMs);
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
