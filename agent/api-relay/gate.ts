import { SourceLimits } from '../names/source-limits.ts';

export interface GateLimits {
  readonly maxConnections: number;
  readonly maxConnectionsPerSource: number;
  /** New connections of all sources and of each, and how many at once after a pause. */
  readonly perSecond: number;
  readonly burst: number;
  readonly perSecondPerSource: number;
  readonly burstPerSource: number;
  /** Besides, for sources without a connection alone: what others do does not use it up. */
  readonly reservedPerSecond: number;
  readonly reservedBurst: number;
}

/** Why a connection is not passed on, or no longer: from another machine, over a bound, or cut for another source. */
export type GateRefusal = 'source' | 'source-limit' | 'limit' | 'rate' | 'cut';

export interface GateOptions {
  /** Whether connections from this address are passed on. */
  isAllowed(source: string): boolean;
  readonly limits: GateLimits;
  /** Milliseconds, monotonic. */
  now(): number;
  /** For each connection that is cut to make room. */
  onCut(source: string): void;
}

/** One source alone, which closes each of its connections at once, gets so little of what is reserved. */
const reservedPerSource = { perSecond: 0.2, burst: 2, maxWaiting: 0 };

/**
 * Who may have one more connection. A few sources that take all they can get do not close it for the others: a source
 * that would then still have no more than the one that has the most gets the place of its newest connection.
 */
export class Gate<Connection extends { reset(): void }> {
  readonly #options: GateOptions;
  readonly #each: SourceLimits;
  readonly #all: SourceLimits;
  readonly #reserved: SourceLimits;
  readonly #reservedEach = new SourceLimits(reservedPerSource);
  /** By source, the newest last. */
  readonly #connections = new Map<string, Set<Connection>>();
  #count = 0;

  constructor(options: GateOptions) {
    const { perSecond, burst, perSecondPerSource, burstPerSource, reservedPerSecond, reservedBurst } = options.limits;
    const rate = (each: number, most: number) => new SourceLimits({ perSecond: each, burst: most, maxWaiting: 0 });
    this.#options = options;
    this.#each = rate(perSecondPerSource, burstPerSource);
    this.#all = rate(perSecond, burst);
    this.#reserved = rate(reservedPerSecond, reservedBurst);
  }

  /** Undefined: it may, and `add` has to follow in the same turn. */
  enter(source: string): GateRefusal | undefined {
    const { isAllowed, limits } = this.#options;
    if (!isAllowed(source)) return 'source';
    const own = this.#connections.get(source)?.size ?? 0;
    const now = this.#options.now();
    if (!this.#each.take(source, now)) return 'rate';
    // What a source is refused does not count against the others.
    if (own >= limits.maxConnectionsPerSource) return 'source-limit';
    const isFull = this.#count >= limits.maxConnections;
    const most = isFull ? this.#most() : '';
    if (isFull && (this.#connections.get(most)?.size ?? 0) < own + 2) return 'limit';
    if (!this.#takeOfAll(source, own, now)) return 'rate';
    if (isFull) this.#cutNewestOf(most);
    return undefined;
  }

  add(source: string, connection: Connection): void {
    const all = this.#connections.get(source);
    if (all) all.add(connection);
    else this.#connections.set(source, new Set([connection]));
    this.#count++;
  }

  /** It is closed, or about to be. */
  leave(source: string, connection: Connection): void {
    const all = this.#connections.get(source);
    if (!all?.delete(connection)) return;
    this.#count--;
    if (all.size === 0) this.#connections.delete(source);
  }

  #takeOfAll(source: string, own: number, now: number): boolean {
    if (this.#all.take('', now)) return true;
    return own === 0 && this.#reservedEach.take(source, now) && this.#reserved.take('', now);
  }

  /** The source that has the most connections. */
  #most(): string {
    let [source, most] = ['', 0];
    for (const [each, { size }] of this.#connections) if (size > most) [source, most] = [each, size];
    return source;
  }

  #cutNewestOf(source: string): void {
    const newest = [...(this.#connections.get(source) ?? [])].at(-1);
    if (newest === undefined) return;
    this.leave(source, newest);
    newest.reset();
    this.#options.onCut(source);
  }
}
