import { createHash } from 'node:crypto';

/** A Lease of an address as this node sees it. Times are of this machine's monotonic clock. */
export interface LeaseView {
  readonly address: string;
  /** "": no node. */
  readonly holder: string;
  /** When this version was first seen. */
  readonly seenAt: number;
  /** So long a holder that says nothing may still answer. */
  readonly durationMs: number;
  /** Its last holder gave it back: it answers no more. */
  readonly isReleased: boolean;
}

/** Who may hold an address. */
export interface Eligible {
  /** Whether this node may. */
  readonly here: boolean;
  /** Other nodes that may, as far as this one knows. */
  readonly others: readonly string[];
}

export interface AnnouncerFacts {
  readonly node: string;
  readonly now: number;
  readonly leases: readonly LeaseView[];
  /** Undefined: no service has the address. */
  readonly eligible: (address: string) => Eligible | undefined;
  /** Addresses that this node answers for, or may. */
  readonly up: ReadonlySet<string>;
}

export interface AnnouncerPlan {
  /** Leases of this node's, to be renewed when it is time. */
  readonly renew: readonly string[];
  /** Leases that are free, to be taken now. */
  readonly take: readonly string[];
  /** Addresses to be taken from the link; before their Leases are given back. */
  readonly drop: readonly string[];
  /** Leases of this node's, to be given back. */
  readonly release: readonly string[];
  /** When the next Lease may be free; Infinity: none is waited for. */
  readonly nextAt: number;
}

/** Nodes that come later in the order wait so much longer each, that the first need not compete with them. */
export const turnMs = 250;
const mostTurns = 2;
/** Each costs a write a second. A node that holds so many takes no more. */
export const mostHeld = 256;

/**
 * What a node does about the Leases of addresses. It renews its own, gives back what it may not hold, and takes those
 * that are free: given back, or not renewed for their duration since this node saw the last renewal. A new Lease counts
 * as just renewed: there may have been an earlier one of the address. Of several nodes the one that holds the fewest
 * takes the next address; all nodes compute the same order. Pure.
 */
export function decideAnnouncements({ node, now, leases, eligible, up }: AnnouncerFacts): AnnouncerPlan {
  const plan = { renew: [] as string[], take: [] as string[], drop: [] as string[], release: [] as string[] };
  const held = new Map<string, number>();
  for (const { holder } of leases) if (holder !== '') held.set(holder, (held.get(holder) ?? 0) + 1);
  const known = new Set<string>();
  let nextAt = Number.POSITIVE_INFINITY;
  for (const lease of leases.toSorted((a, b) => (a.address < b.address ? -1 : 1))) {
    const { address, holder } = lease;
    known.add(address);
    const may = eligible(address);
    if (holder === node) {
      if (may?.here) plan.renew.push(address);
      else plan.release.push(address);
    }
    if (up.has(address) && (holder !== node || !may?.here)) plan.drop.push(address);
    if (holder === node || may === undefined) continue;
    const freeAt = lease.isReleased ? lease.seenAt : lease.seenAt + lease.durationMs;
    if (freeAt > now) {
      if (may.here) nextAt = Math.min(nextAt, freeAt);
      continue;
    }
    // A holder that is silent is none.
    const rivals = may.others.filter((other) => other !== holder && other !== node);
    const order = orderOf([...rivals, ...(may.here ? [node] : [])], address, held);
    const [first] = order;
    if (first !== undefined) held.set(first, (held.get(first) ?? 0) + 1);
    if (!may.here || (held.get(node) ?? 0) > mostHeld) continue;
    const turnAt = freeAt + Math.min(order.indexOf(node), mostTurns) * turnMs;
    if (turnAt <= now) plan.take.push(address);
    else nextAt = Math.min(nextAt, turnAt);
  }
  for (const address of up) if (!known.has(address)) plan.drop.push(address);
  return { ...plan, nextAt };
}

function orderOf(nodes: readonly string[], address: string, held: ReadonlyMap<string, number>): string[] {
  const digest = (node: string): string => createHash('sha256').update(`${address} ${node}`).digest('hex');
  return nodes
    .map((node) => ({ node, count: held.get(node) ?? 0, digest: digest(node) }))
    .toSorted((a, b) => a.count - b.count || (a.digest < b.digest ? -1 : 1))
    .map(({ node }) => node);
}
