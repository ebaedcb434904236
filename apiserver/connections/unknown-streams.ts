/**
 * How many HTTP/2 streams there may be on connections that have not authenticated, whatever state the streams are in.
 */
export interface UnknownStreamLimits {
  readonly perPeer: number;
  readonly total: number;
}

/**
 * A stream takes about 7 KB, so these are 7 MB and 28 MB. A client with a token opens its first calls before any of
 * them authenticates, and one connection carries at most 1,000 streams.
 */
export const defaultUnknownStreamLimits: UnknownStreamLimits = { perPeer: 1_000, total: 4_000 };

/** What the table must know of a connection. */
export interface StreamHolder {
  /** The address that it came from. */
  readonly peer: string;
  /** Whether it has authenticated; true stays true. */
  isKnown(): boolean;
}

/**
 * The open streams of connections that have not authenticated: requests that arrive slowly, answers that are not read,
 * calls that are refused and not ended by the client. When a limit is met, the connection with the most of them has to
 * go. A connection that authenticates leaves the table with all its streams.
 */
export class UnknownStreams<T extends StreamHolder> {
  readonly #limits: UnknownStreamLimits;
  readonly #peers = new Map<string, PeerStreams<T>>();
  #total = 0;

  constructor(limits: UnknownStreamLimits) {
    this.#limits = limits;
  }

  get total(): number {
    return this.#total;
  }

  /** Counts a stream; gives the connection that has to be closed, when one has to. */
  begin(holder: T): T | undefined {
    if (holder.isKnown()) {
      this.forget(holder);
      return undefined;
    }
    const own = this.#peers.get(holder.peer) ?? { count: 0, byHolder: new Map<T, number>() };
    this.#peers.set(holder.peer, own);
    own.byHolder.set(holder, (own.byHolder.get(holder) ?? 0) + 1);
    own.count++;
    this.#total++;
    if (own.count > this.#limits.perPeer) return this.#evict([own]);
    return this.#total > this.#limits.total ? this.#evict([...this.#peers.values()]) : undefined;
  }

  /** A counted stream has closed. */
  end(holder: T): void {
    const own = this.#peers.get(holder.peer);
    const count = own?.byHolder.get(holder);
    if (!own || count === undefined) return;
    this.#subtract(holder, own, 1);
    if (count > 1) own.byHolder.set(holder, count - 1);
    else own.byHolder.delete(holder);
  }

  /** The connection has authenticated, or is closed. */
  forget(holder: T): void {
    const own = this.#peers.get(holder.peer);
    const count = own?.byHolder.get(holder);
    if (!own || count === undefined) return;
    own.byHolder.delete(holder);
    this.#subtract(holder, own, count);
  }

  #subtract({ peer }: T, own: PeerStreams<T>, count: number): void {
    own.count -= count;
    this.#total -= count;
    if (own.count === 0) this.#peers.delete(peer);
  }

  /**
   * Forgets the connection with the most streams; undefined when those that have authenticated meanwhile were enough.
   */
  #evict(peers: readonly PeerStreams<T>[]): T | undefined {
    let most: T | undefined;
    let mostCount = 0;
    let forgotten = false;
    for (const { byHolder } of peers) {
      for (const [holder, count] of byHolder) {
        if (holder.isKnown()) {
          this.forget(holder);
          forgotten = true;
        } else if (count > mostCount) [most, mostCount] = [holder, count];
      }
    }
    if (forgotten || !most) return undefined;
    this.forget(most);
    return most;
  }
}

interface PeerStreams<T> {
  count: number;
  readonly byHolder: Map<T, number>;
}
