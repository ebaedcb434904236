import { exhausted } from '../../api/errors/index.ts';
import type { Counter, MetricsRegistry } from '../../api/metrics/index.ts';
import { isControlPlane } from '../auth/identity.ts';
import { apiserverMetrics } from '../metrics.ts';
import { FairShare } from './fair-share.ts';
import { TokenBuckets } from './token-buckets.ts';

/** How much clients may ask for at once. A client is a user: everything that has the same certificate or token. */
export interface ClientLimits {
  /** Unary calls at once from which on clients get no more than an equal share. */
  readonly maxInflight: number;
  /** The same for open streams. */
  readonly maxStreams: number;
  /** Calls in a second that each client may make, always; 0: as many as it likes. */
  readonly clientRate: number;
  /** So many at once after a pause; 0: two seconds' worth. */
  readonly clientBurst: number;
}

/**
 * 600: with 64 at once a core is busy, so this is ten times what helps throughput, and the one that waits longest waits 0.2 s for the
 * others; the scheduler binds 100 at once. 50,000 streams: ten of each of 5,000 nodes. No rate: one that is generous on a
 * fast machine is none on a slow one, and calls at once bound what a client takes from others at any speed.
 */
export const defaultClientLimits: ClientLimits = { maxInflight: 600, maxStreams: 50_000, clientRate: 0, clientBurst: 0 };

/** Nobody is refused with less: an agent does several things at once. */
const LEAST_SHARE = 10;
const RETRY_AFTER_MS = 500;

export type CallShape = 'unary' | 'stream';

/**
 * Keeps one client from taking the server from the others. The scheduler and the controllers work for everybody and bound themselves:
 * they are counted, not refused.
 */
export class LimitKeeper {
  readonly #calls: FairShare;
  readonly #streams: FairShare;
  readonly #buckets: TokenBuckets | undefined;
  readonly #rejected: Readonly<Record<'inflight' | 'streams' | 'rate', Counter>>;

  constructor(limits: ClientLimits, { metrics, now }: { readonly metrics: MetricsRegistry; readonly now: () => number }) {
    const { maxInflight, maxStreams, clientRate: rate, clientBurst } = limits;
    this.#calls = new FairShare({ busyAt: maxInflight, least: LEAST_SHARE });
    this.#streams = new FairShare({ busyAt: maxStreams, least: LEAST_SHARE });
    this.#buckets = rate > 0 ? new TokenBuckets({ rate, burst: clientBurst || Math.max(1, rate * 2) }, now) : undefined;
    const rejected = metrics.counter(apiserverMetrics.rejected);
    this.#rejected = { inflight: rejected.with('inflight'), streams: rejected.with('streams'), rate: rejected.with('rate') };
    metrics.read(apiserverMetrics.clients, () => new Set([...this.#calls.clients, ...this.#streams.clients]).size);
  }

  /** Counts one item of a stream against the rate; 0, or in how many milliseconds there is room for it. */
  take(user: string): number {
    return this.#buckets === undefined || isControlPlane(user) ? 0 : this.#buckets.take(user);
  }

  /** Counts one call against the rate. Throws RESOURCE_EXHAUSTED with the time to wait. */
  #charge(user: string): void {
    const waitMs = this.take(user);
    if (waitMs <= 0) return;
    this.#rejected.rate.inc();
    throw exhausted(`user "${user}" makes more calls than the server allows in a second: try again in ${waitMs} ms`, waitMs);
  }

  /** Lets a call in, until `leave`. Throws RESOURCE_EXHAUSTED with the time to wait. */
  enter(user: string, shape: CallShape): void {
    this.#charge(user);
    const isExempt = isControlPlane(user);
    const pool = shape === 'unary' ? this.#calls : this.#streams;
    if (pool.enter(user, isExempt)) return;
    this.#rejected[shape === 'unary' ? 'inflight' : 'streams'].inc();
    throw shape === 'unary'
      ? exhausted(
          `the server is busy, and user "${user}" has its share of ${pool.share} calls at once: wait for some, then try again`,
          RETRY_AFTER_MS,
        )
      : exhausted(
          `the server is busy, and user "${user}" has its share of ${pool.share} open streams: close some, then try again`,
          RETRY_AFTER_MS,
        );
  }

  leave(user: string, shape: CallShape): void {
    (shape === 'unary' ? this.#calls : this.#streams).leave(user);
  }
}
