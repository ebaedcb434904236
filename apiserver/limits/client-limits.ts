import { exhausted } from '../../api/errors/index.ts';
import type { Counter, MetricsRegistry } from '../../api/metrics/index.ts';
import { apiserverMetrics } from '../metrics.ts';
import { FairShare } from './fair-share.ts';
import { type Flow, type Level, levels, perLevel } from './levels.ts';
import { TokenBuckets } from './token-buckets.ts';

/**
 * How much clients may ask for at once: everything that has the same certificate or token, and the service accounts of
 * a namespace together (`Flow`).
 */
export interface ClientLimits {
  /** Unary calls at once from which on the clients of a level get no more than an equal share. */
  readonly maxInflight: number;
  /** The same for open streams. */
  readonly maxStreams: number;
  /** Calls in a second that each client may make, always; 0: as many as it likes. */
  readonly clientRate: number;
  /** The most calls at once after a pause; 0: as many as in two seconds. */
  readonly clientBurst: number;
}

/**
 * 600: with 64 at once a core is busy, so this is ten times what helps throughput, and the one that waits longest waits
 * 0.2 s for the others; the scheduler binds 100 at once. 50,000 streams: ten of each of 5,000 nodes. No rate: one that
 * is generous on a fast machine is none on a slow one, and calls at once bound what a client takes from others at any
 * speed.
 */
export const defaultClientLimits: ClientLimits = { maxInflight: 600, maxStreams: 50_000, clientRate: 0, clientBurst: 0 };

/** No client is refused that has less: an agent does several things at once. */
const LEAST_SHARE = 10;
const RETRY_AFTER_MS = 500;

export type CallShape = 'unary' | 'stream';

type Reason = 'inflight' | 'streams' | 'rate';

/**
 * Keeps one client from taking the server from the others of its priority level, and each level from taking it from the
 * other levels.
 */
export class LimitKeeper {
  readonly #calls: Readonly<Record<Level, FairShare>>;
  readonly #streams: Readonly<Record<Level, FairShare>>;
  readonly #buckets: TokenBuckets | undefined;
  readonly #rejected: Readonly<Record<Level, Readonly<Record<Reason, Counter>>>>;

  constructor(limits: ClientLimits, { metrics, now }: { readonly metrics: MetricsRegistry; readonly now: () => number }) {
    const { maxInflight, maxStreams, clientRate: rate, clientBurst } = limits;
    const pools = (places: number) =>
      perLevel(({ calls }) => new FairShare({ busyAt: Math.max(1, Math.floor(places * calls)), least: LEAST_SHARE }));
    this.#calls = pools(maxInflight);
    this.#streams = pools(maxStreams);
    this.#buckets = rate > 0 ? new TokenBuckets({ rate, burst: clientBurst || Math.max(1, rate * 2) }, now) : undefined;
    const counter = metrics.counter(apiserverMetrics.rejected);
    this.#rejected = perLevel((_, level) => ({
      inflight: counter.with(level, 'inflight'),
      streams: counter.with(level, 'streams'),
      rate: counter.with(level, 'rate'),
    }));
    metrics.read(apiserverMetrics.clients, () =>
      levels.map((level) => ({
        labels: [level],
        value: new Set([...this.#calls[level].clients, ...this.#streams[level].clients]).size,
      })),
    );
  }

  /** Counts one item of a stream against the rate; 0, or in how many milliseconds there is room for it. */
  take({ key, isExempt }: Flow): number {
    return this.#buckets === undefined || isExempt ? 0 : this.#buckets.take(key);
  }

  /** Counts one call against the rate. Throws RESOURCE_EXHAUSTED with the time to wait. */
  #charge(flow: Flow): void {
    const waitMs = this.take(flow);
    if (waitMs <= 0) return;
    this.#rejected[flow.level].rate.inc();
    throw exhausted(`${flow.name} makes more calls than the server allows in a second: try again in ${waitMs} ms`, waitMs);
  }

  /** Lets a call in, until `leave`. Throws RESOURCE_EXHAUSTED with the time to wait. */
  enter(flow: Flow, shape: CallShape): void {
    this.#charge(flow);
    const { level, key, name, isExempt } = flow;
    const pool = (shape === 'unary' ? this.#calls : this.#streams)[level];
    if (pool.enter(key, isExempt)) return;
    this.#rejected[level][shape === 'unary' ? 'inflight' : 'streams'].inc();
    const [what, remedy] = shape === 'unary' ? ['calls at once', 'wait for some'] : ['open streams', 'close some'];
    throw exhausted(
      `the server is busy, and ${name} has its share of ${pool.share} ${what} (priority level "${level}"): ${remedy}, then try again`,
      RETRY_AFTER_MS,
    );
  }

  leave({ level, key }: Flow, shape: CallShape): void {
    (shape === 'unary' ? this.#calls : this.#streams)[level].leave(key);
  }
}
