/** How a query was answered. */
export const kinds = ['cluster', 'search', 'upstream', 'invalid'] as const;
export type Kind = (typeof kinds)[number];

/** Names of rcodes, by number; the last one stands for all others. */
export const rcodeNames = ['NOERROR', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'NOTIMP', 'REFUSED', 'OTHER'] as const;

/** Why no answer was sent. */
export const dropReasons = ['malformed', 'rate', 'busy', 'unsent'] as const;
/** What the cache knew. */
export const cacheResults = ['hit', 'miss', 'stale'] as const;
/** How an exchange with an upstream server ended. */
export const upstreamResults = ['answered', 'refused', 'failed', 'foreign'] as const;

const sections = [
  ['answers', kinds.length * rcodeNames.length],
  ['drops', dropReasons.length],
  ['cache', cacheResults.length],
  ['upstream', upstreamResults.length],
] as const;
type Section = (typeof sections)[number][0];

const starts = sections.reduce<{ readonly at: Partial<Record<Section, number>>; readonly size: number }>(
  ({ at, size }, [name, length]) => ({ at: { ...at, [name]: size }, size: size + length }),
  { at: {}, size: 0 },
);
const at = starts.at as Readonly<Record<Section, number>>;

/**
 * Counts in memory that two threads share: the worker counts and the agent's thread reads, so a scrape costs the worker
 * nothing. Written by one thread only.
 */
export class Meter {
  readonly buffer: SharedArrayBuffer;
  readonly #counts: Float64Array;

  constructor(buffer = new SharedArrayBuffer(starts.size * Float64Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer;
    this.#counts = new Float64Array(buffer);
  }

  answered(kind: Kind, rcode: number): void {
    this.#counts[answerAt(kinds.indexOf(kind), Math.min(rcode, rcodeNames.length - 1))]!++;
  }

  dropped(reason: (typeof dropReasons)[number]): void {
    this.#counts[at.drops + dropReasons.indexOf(reason)]!++;
  }

  cached(result: (typeof cacheResults)[number]): void {
    this.#counts[at.cache + cacheResults.indexOf(result)]!++;
  }

  upstream(result: (typeof upstreamResults)[number]): void {
    this.#counts[at.upstream + upstreamResults.indexOf(result)]!++;
  }

  /** All counts with their labels, section by section. */
  answers(): { readonly kind: Kind; readonly rcode: string; readonly value: number }[] {
    return kinds.flatMap((kind, k) => rcodeNames.map((rcode, r) => ({ kind, rcode, value: this.#counts[answerAt(k, r)]! })));
  }

  drops = (): Reading[] => this.#read(at.drops, dropReasons);
  cache = (): Reading[] => this.#read(at.cache, cacheResults);
  exchanges = (): Reading[] => this.#read(at.upstream, upstreamResults);

  #read(start: number, labels: readonly string[]): Reading[] {
    return labels.map((label, n) => ({ labels: [label], value: this.#counts[start + n]! }));
  }
}

interface Reading {
  readonly labels: readonly [string];
  readonly value: number;
}

function answerAt(kind: number, rcode: number): number {
  return at.answers + kind * rcodeNames.length + rcode;
}
