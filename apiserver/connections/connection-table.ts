/** How many connections there may be. "Unknown" is one that has not authenticated. */
export interface ConnectionLimits {
  readonly total: number;
  readonly perPeer: number;
  readonly unknownTotal: number;
  readonly unknownPerPeer: number;
}

/**
 * 10,000: two for each of 5,000 nodes; each costs about 60 KB. Half a thousand programs of one machine that all come
 * back at once, before their first call, are normal, so an address has room for twice that.
 */
export const defaultConnectionLimits: ConnectionLimits = {
  total: 10_000,
  perPeer: 2_000,
  unknownTotal: 4_000,
  unknownPerPeer: 1_000,
};

/** What the table must know of a connection. */
export interface Connection {
  /** The address that it came from. */
  readonly peer: string;
  /** Whether it has authenticated; true stays true. */
  isKnown(): boolean;
}

export interface Admission<T> {
  readonly admitted: boolean;
  /** One that has to go so that the new one has a place. */
  readonly evicted?: T;
  /** Which limit was met, when one was. */
  readonly limit?: 'peer' | 'total';
}

/**
 * The connections that there are. At a limit the oldest unauthenticated connection is evicted, so a flood evicts its
 * own; authenticated connections stay. Where all are authenticated the new one is refused.
 */
export class ConnectionTable<T extends Connection> {
  readonly #limits: ConnectionLimits;
  readonly #all = new Set<T>();
  /** The oldest first; some may be known by now. */
  readonly #unknown = new Set<T>();
  readonly #peers = new Map<string, { readonly all: Set<T>; readonly unknown: Set<T> }>();

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#all.size;
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#all.values();
  }

  /** Adds a connection unless it is refused; what is evicted is gone from the table already. */
  admit(connection: T): Admission<T> {
    const { peer } = connection;
    const { total, perPeer, unknownTotal, unknownPerPeer } = this.#limits;
    const own = this.#peers.get(peer);
    let met: 'peer' | 'total' | undefined;
    let evicted: T | undefined;
    if (own && (own.all.size >= perPeer || own.unknown.size >= unknownPerPeer)) {
      evicted = this.#oldestUnknown(own.unknown, unknownPerPeer, own.all.size >= perPeer);
      if (evicted) met = 'peer';
      else if (own.all.size >= perPeer) return { admitted: false, limit: 'peer' };
    }
    if (!evicted && (this.#all.size >= total || this.#unknown.size >= unknownTotal)) {
      evicted = this.#oldestUnknown(this.#unknown, unknownTotal, this.#all.size >= total);
      if (evicted) met = 'total';
      else if (this.#all.size >= total) return { admitted: false, limit: 'total' };
    }
    if (evicted) this.leave(evicted);
    this.#add(connection);
    return { admitted: true, ...(evicted && { evicted }), ...(met && { limit: met }) };
  }

  /**
   * The connection to evict; undefined when fewer are unauthenticated than were counted, and none has to go. Removes
   * those that have authenticated.
   */
  #oldestUnknown(unknown: Set<T>, max: number, isFull: boolean): T | undefined {
    for (const each of unknown) if (each.isKnown()) this.#becomesKnown(each);
    if (!isFull && unknown.size < max) return undefined;
    return unknown.values().next().value;
  }

  #becomesKnown(connection: T): void {
    this.#unknown.delete(connection);
    this.#peers.get(connection.peer)?.unknown.delete(connection);
  }

  #add(connection: T): void {
    const own = this.#peers.get(connection.peer) ?? { all: new Set<T>(), unknown: new Set<T>() };
    this.#peers.set(connection.peer, own);
    for (const set of [this.#all, this.#unknown, own.all, own.unknown]) set.add(connection);
  }

  leave(connection: T): void {
    this.#all.delete(connection);
    this.#becomesKnown(connection);
    const own = this.#peers.get(connection.peer);
    own?.all.delete(connection);
    if (own?.all.size === 0) this.#peers.delete(connection.peer);
  }
}

/** The key of a connection's peer: an IPv4 address, or the /64 of an IPv6 address, which one customer owns. */
export function peerOf(address: string | undefined): string {
  if (address === undefined) return 'unknown';
  const four = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (four !== undefined) return four;
  if (!address.includes(':') || address === '::1') return address;
  const [head = '', tail] = address.replace(/%.*$/, '').split('::');
  const front = head === '' ? [] : head.split(':');
  const back = tail ? tail.split(':') : [];
  const zeros = tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - front.length - back.length) }, () => '0');
  return `${[...front, ...zeros, ...back].slice(0, 4).join(':')}::/64`;
}
