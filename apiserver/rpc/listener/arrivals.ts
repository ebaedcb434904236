import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { status as codes, type ServerInterceptingCall } from '@grpc/grpc-js';
import { type BucketOptions, TokenBuckets } from '../../limits/token-buckets.ts';
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
/** So long a client has to take the status of a request that was ended. */
const CLOSE_AFTER_MS = 1_000;

interface Arrival {
  readonly stream: ServerHttp2Stream;
  readonly call: Pick<ServerInterceptingCall, 'sendStatus'>;
  readonly at: number;
  bytes: number;
}

export interface ArrivalsOptions {
  readonly limits: ArrivalLimits;
  readonly now: () => number;
  readonly refusals: Pick<Refusals, 'note'>;
  /** The client of a connection: a user, or the address of a connection that has not authenticated. */
  readonly clientOf: (session: ServerHttp2Session) => string;
}

/**
 * Bounds incomplete requests: authentication and its limits apply only once the message has arrived. A request that
 * takes too long is cancelled; when all together are too large, the heaviest connection of the client with the most
 * bytes is closed.
 */
export class Arrivals {
  readonly #options: ArrivalsOptions;
  readonly #arrivals = new Map<ServerHttp2Stream, Arrival>();
  readonly #resets = new WeakMap<ServerHttp2Session, TokenBuckets>();
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

  /** Starts tracking a call whose request is one message. */
  begin(stream: ServerHttp2Stream, call: Arrival['call']): void {
    this.#timer ??= setTimeout(() => this.#sweepOn(), this.#options.limits.timeMs / SWEEPS).unref();
    const arrival: Arrival = { stream, call, at: this.#options.now(), bytes: 0 };
    this.#arrivals.set(stream, arrival);
    if (this.#arrivals.size > this.#options.limits.requests) this.#makeRoom('request-limit', () => 1);
    stream.on('data', (chunk: Buffer) => {
      if (!this.#arrivals.has(stream)) return;
      arrival.bytes += chunk.length;
      this.#bytes += chunk.length;
      if (this.#bytes > this.#options.limits.bytes) this.#makeRoom('request-memory', (each) => each.bytes);
    });
    stream.on('end', () => this.#end(stream));
    this.follow(stream);
  }

  /** Any call begins: it counts against its connection when the client resets it. */
  follow(stream: ServerHttp2Stream): void {
    const session = stream.session as ServerHttp2Session | undefined;
    stream.on('close', () => {
      this.#end(stream);
      if (stream.rstCode === constants.NGHTTP2_CANCEL && session) this.#wasReset(session);
    });
  }

  /** The whole request is there, or never will be. */
  #end(stream: ServerHttp2Stream): void {
    const arrival = this.#arrivals.get(stream);
    if (!arrival) return;
    this.#arrivals.delete(stream);
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
    for (const arrival of this.#arrivals.values()) {
      const { stream, call, at } = arrival;
      if (at <= before) {
        this.#end(stream);
        this.#options.refusals.note('request-timeout', peerOf(stream.session?.socket?.remoteAddress));
        const seconds = this.#options.limits.timeMs / 1_000;
        call.sendStatus({
          code: codes.DEADLINE_EXCEEDED,
          details: `the request did not arrive within ${seconds} s: send it whole`,
        });
        // A client that goes on sending keeps its stream open otherwise.
        setTimeout(() => stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM), CLOSE_AFTER_MS).unref();
      }
    }
  }

  /** nghttp2 takes no more streams of a connection that resets a thousand at once, and tells only the client. */
  #wasReset(session: ServerHttp2Session): void {
    const bucket = this.#resets.get(session) ?? new TokenBuckets(this.#options.limits.resets, this.#options.now);
    this.#resets.set(session, bucket);
    if (session.destroyed || bucket.take('') === 0) return;
    this.#options.refusals.note('reset-flood', peerOf(session.socket?.remoteAddress));
    session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }

  /**
   * Closes the heaviest connection of the client whose requests weigh most: many small ones of an attacker do not drive
   * out a large one of another.
   */
  #makeRoom(reason: 'request-limit' | 'request-memory', weigh: (arrival: Arrival) => number): void {
    const bySession = new Map<ServerHttp2Session, number>();
    for (const arrival of this.#arrivals.values()) {
      const session = arrival.stream.session as ServerHttp2Session | undefined;
      if (session) bySession.set(session, (bySession.get(session) ?? 0) + weigh(arrival));
    }
    const byClient = new Map<string, number>();
    const clients = new Map([...bySession.keys()].map((session) => [session, this.#options.clientOf(session)]));
    for (const [session, client] of clients) byClient.set(client, (byClient.get(client) ?? 0) + bySession.get(session)!);
    const client = heaviest(byClient);
    const largest = heaviest(new Map([...bySession].filter(([session]) => clients.get(session) === client)));
    if (!largest) return;
    this.#options.refusals.note(reason, peerOf(largest.socket?.remoteAddress));
    for (const { stream } of [...this.#arrivals.values()]) if (stream.session === largest) this.#end(stream);
    largest.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }
}

function heaviest<K>(weights: ReadonlyMap<K, number>): K | undefined {
  let [key, most]: [K | undefined, number] = [undefined, 0];
  for (const [each, weight] of weights) if (weight > most) [key, most] = [each, weight];
  return key;
}
