import type { EventEmitter } from 'node:events';
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { flowOfConnection } from '../calls/identify.ts';
import { type BucketOptions, TokenBuckets } from '../limits/token-buckets.ts';
import { afterFrames } from './after-frames.ts';
import { peerOf } from './connection-table.ts';
import type { Refusals } from './refusals.ts';

/** What requests that have not arrived in whole may take. */
export interface ArrivalLimits {
  /** From the headers to the end of the message. */
  readonly timeMs: number;
  /** All of them together. A message has at most 4 MiB. */
  readonly bytes: number;
  /** How many there may be, of clients that have authenticated as well. */
  readonly requests: number;
  /** Streams that one connection may reset: in a second, and at once. */
  readonly resets: BucketOptions;
}

/**
 * A minute is enough for 4 MiB at 70 KB/s; 128 MiB are 32 of the largest messages at once. 20,000 requests take 140 MB;
 * most arrive in one piece and are counted for a moment. Resets: a little less than what nghttp2 bears.
 */
export const defaultArrivalLimits: ArrivalLimits = {
  timeMs: 60_000,
  bytes: 128 * 1024 * 1024,
  requests: 20_000,
  resets: { rate: 30, burst: 900 },
};

/** How many checks there are in the time that a request may take. */
const SWEEPS = 4;
/** A connection: the session of HTTP/2, the socket of HTTP/1.1. */
export type ArrivalConnection = ServerHttp2Session | Socket;

/** A request that is awaited. */
export interface AwaitedRequest {
  /** Emits "end" when it is whole, "close" when it never will be. */
  readonly source: EventEmitter;
  readonly connection: ArrivalConnection | undefined;
  /** Answers a request that takes too long. */
  readonly expire: (message: string) => void;
}

interface Arrival {
  readonly connection: ArrivalConnection | undefined;
  readonly expire: (message: string) => void;
  readonly at: number;
  bytes: number;
  isAwaited: boolean;
}

export interface ArrivalsOptions {
  readonly limits: ArrivalLimits;
  readonly now: () => number;
  readonly refusals: Pick<Refusals, 'note'>;
  /** The client of a connection: a user, or the address of a connection that has not authenticated. */
  readonly clientOf: (connection: ArrivalConnection) => string;
}

/**
 * Bounds incomplete requests: authentication and its limits apply only once the message has arrived. A request that
 * takes too long is cancelled; when all together are too large, the heaviest connection of the client with the most
 * bytes is closed.
 */
export class Arrivals {
  readonly #options: ArrivalsOptions;
  readonly #arrivals = new Set<Arrival>();
  readonly #resets = new WeakMap<ServerHttp2Session, TokenBuckets>();
  /** Connections that are about to be destroyed for their resets. */
  readonly #flooded = new WeakSet<ServerHttp2Session>();
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ArrivalsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#arrivals.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Starts tracking a request that is one message. The result counts what has come of it. */
  begin(request: AwaitedRequest): (bytes: number) => void {
    const arrival = this.#add(request);
    const end = (): void => this.#end(arrival);
    request.source.on('end', end);
    request.source.on('close', end);
    return (bytes) => this.#count(arrival, bytes);
  }

  /** `begin` and `follow` of a call whose request is one message. */
  beginStream(stream: ServerHttp2Stream, expire: (message: string) => void): (bytes: number) => void {
    const session = stream.session as ServerHttp2Session | undefined;
    const arrival = this.#add({ connection: session, expire });
    stream.on('end', () => this.#end(arrival));
    stream.on('close', () => {
      this.#end(arrival);
      this.#closed(stream, session);
    });
    return (bytes) => this.#count(arrival, bytes);
  }

  #add({ connection, expire }: Pick<AwaitedRequest, 'connection' | 'expire'>): Arrival {
    const { limits, now } = this.#options;
    this.#timer ??= setTimeout(() => this.#sweepOn(), limits.timeMs / SWEEPS).unref();
    const arrival: Arrival = { connection, expire, at: now(), bytes: 0, isAwaited: true };
    this.#arrivals.add(arrival);
    if (this.#arrivals.size > limits.requests) this.#makeRoom('request-limit', () => 1);
    return arrival;
  }

  #count(arrival: Arrival, bytes: number): void {
    if (!arrival.isAwaited) return;
    arrival.bytes += bytes;
    this.#bytes += bytes;
    if (this.#bytes > this.#options.limits.bytes) this.#makeRoom('request-memory', (each) => each.bytes);
  }

  /** Any call begins: it counts against its connection when the client resets it. */
  follow(stream: ServerHttp2Stream): void {
    const session = stream.session as ServerHttp2Session | undefined;
    stream.on('close', () => this.#closed(stream, session));
  }

  #closed({ rstCode }: ServerHttp2Stream, session: ServerHttp2Session | undefined): void {
    if (rstCode === constants.NGHTTP2_CANCEL && session) this.#wasReset(session);
  }

  /** The whole request is there, or never will be. */
  #end(arrival: Arrival): void {
    if (!arrival.isAwaited) return;
    arrival.isAwaited = false;
    this.#arrivals.delete(arrival);
    this.#bytes -= arrival.bytes;
  }

  /** Looks as long as there is something to look at, so that an idle server sleeps. */
  #sweepOn(): void {
    this.sweep();
    this.#timer = undefined;
    if (this.#arrivals.size > 0) this.#timer = setTimeout(() => this.#sweepOn(), this.#options.limits.timeMs / SWEEPS).unref();
  }

  /** Ends those that take too long. */
  sweep(): void {
    const before = this.#options.now() - this.#options.limits.timeMs;
    for (const arrival of this.#arrivals) {
      const { connection, expire, at } = arrival;
      if (at > before) continue;
      this.#end(arrival);
      this.#options.refusals.note('request-timeout', addressOf(connection));
      expire(`the request did not arrive within ${this.#options.limits.timeMs / 1_000} s: send it whole`);
    }
  }

  /** nghttp2 takes no more streams of a connection that resets a thousand at once, and tells only the client. */
  #wasReset(session: ServerHttp2Session): void {
    const bucket = this.#resets.get(session) ?? new TokenBuckets(this.#options.limits.resets, this.#options.now);
    this.#resets.set(session, bucket);
    if (session.destroyed || this.#flooded.has(session) || bucket.take('') === 0) return;
    this.#flooded.add(session);
    this.#options.refusals.note('reset-flood', peerOf(session.socket?.remoteAddress));
    destroySoon(session);
  }

  /**
   * Closes the heaviest connection of the client whose requests weigh most: many small ones of an attacker do not drive
   * out a large one of another.
   */
  #makeRoom(reason: 'request-limit' | 'request-memory', weigh: (arrival: Arrival) => number): void {
    const byConnection = new Map<ArrivalConnection, number>();
    for (const arrival of this.#arrivals) {
      const { connection } = arrival;
      if (connection) byConnection.set(connection, (byConnection.get(connection) ?? 0) + weigh(arrival));
    }
    const byClient = new Map<string, number>();
    const clients = new Map([...byConnection.keys()].map((each) => [each, this.#options.clientOf(each)]));
    for (const [each, client] of clients) byClient.set(client, (byClient.get(client) ?? 0) + byConnection.get(each)!);
    const client = heaviest(byClient);
    const largest = heaviest(new Map([...byConnection].filter(([each]) => clients.get(each) === client)));
    if (!largest) return;
    this.#options.refusals.note(reason, addressOf(largest));
    for (const arrival of [...this.#arrivals]) if (arrival.connection === largest) this.#end(arrival);
    if ('socket' in largest) destroySoon(largest);
    else largest.destroy();
  }
}

function destroySoon(session: ServerHttp2Session): void {
  afterFrames(() => session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM));
}

/** The session's socket is gone when it is. */
function addressOf(connection: ArrivalConnection | undefined): string {
  const socket = connection && ('socket' in connection ? connection.socket : connection);
  return peerOf(socket?.remoteAddress);
}

/** The client that a connection's incomplete requests count against: the authenticated flow, or the address. */
export function clientOf(connection: ArrivalConnection): string {
  const flow = flowOfConnection(connection);
  return flow === undefined ? `address ${addressOf(connection)}` : `user ${flow}`;
}

function heaviest<K>(weights: ReadonlyMap<K, number>): K | undefined {
  let [key, most]: [K | undefined, number] = [undefined, 0];
  for (const [each, weight] of weights) if (weight > most) [key, most] = [each, weight];
  return key;
}
