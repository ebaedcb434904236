import { exhausted } from '../../api/errors/index.ts';
import type { Counter, MetricsRegistry } from '../../api/metrics/index.ts';
import { apiserverMetrics } from '../metrics.ts';
import type { CallShape } from './client-limits.ts';

/** How many calls without credentials may be open, from their begin until their stream has closed. */
export interface AnonymousLimits {
  /** Streams of one address. */
  readonly peerStreams: number;
  /** Unary calls of one address. */
  readonly peerCalls: number;
  /** Streams and calls of all addresses. */
  readonly total: number;
  /** A unary answer that was not taken after so long is cut off. */
  readonly takeMs: number;
}

/** A load balancer watches the health once for each of its processes, and checks it a few times a second. */
export const defaultAnonymousLimits: AnonymousLimits = { peerStreams: 10, peerCalls: 100, total: 1_000, takeMs: 5_000 };

const RETRY_AFTER_MS = 1_000;

interface Open {
  streams: number;
  calls: number;
}

/** Bounds the calls without credentials: they count against the peer's address, because they have no user. */
export class AnonymousCalls {
  readonly limits: AnonymousLimits;
  readonly #rejected: Counter;
  readonly #byPeer = new Map<string, Open>();
  #total = 0;

  constructor(limits: AnonymousLimits, metrics: MetricsRegistry) {
    this.limits = limits;
    this.#rejected = metrics.counter(apiserverMetrics.rejected).with('anonymous', 'anonymous');
    metrics.read(apiserverMetrics.anonymousCalls, () => this.#total);
  }

  /** Counts a call until the function is called that comes back. Throws RESOURCE_EXHAUSTED. */
  enter(peer: string, shape: CallShape): () => void {
    const { peerStreams, peerCalls, total } = this.limits;
    const own = this.#byPeer.get(peer) ?? { streams: 0, calls: 0 };
    const isFull = shape === 'stream' ? own.streams >= peerStreams : own.calls >= peerCalls;
    if (isFull || this.#total >= total) {
      this.#rejected.inc();
      const of = isFull
        ? `your address has ${shape === 'stream' ? `${peerStreams} streams` : `${peerCalls} calls`}`
        : `there are ${total}`;
      throw exhausted(`${of} without credentials open: close some, or present credentials`, RETRY_AFTER_MS);
    }
    this.#byPeer.set(peer, own);
    this.#total++;
    if (shape === 'stream') own.streams++;
    else own.calls++;
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      this.#total--;
      if (shape === 'stream') own.streams--;
      else own.calls--;
      if (own.streams + own.calls === 0) this.#byPeer.delete(peer);
    };
  }
}
