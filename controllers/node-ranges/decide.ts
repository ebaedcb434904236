import type { Node } from '../../api/generated/types.ts';
import { type AddressRange, overlap, parseAddressRange, rangeAround } from '../../api/meta/address-range.ts';
import { defaultNetwork } from '../../api/meta/cluster-ranges.ts';

/** From which addresses each node gets a range of its own. */
export interface NodeRanges {
  /** All pods' addresses. */
  readonly cluster: AddressRange;
  /** How many bits the addresses of a node have in common. */
  readonly nodeLength: number;
}

/** Kubernetes' bound: a table of more than 65536 ranges has no use. */
const MOST_BITS = 16;

/** The same as an operator says it. */
export interface NodeRangeSettings {
  /** "10.42.0.0/16" when absent. */
  readonly clusterCidr?: string | undefined;
  /** 24 when absent. */
  readonly nodeCidrMaskSize?: number | undefined;
}

const DEFAULT_MASK_SIZE = 24;

/** Throws RangeError with a sentence that names the flag. */
export function parseNodeRanges(settings: NodeRangeSettings = {}): NodeRanges {
  const { clusterCidr = defaultNetwork.clusterCidr, nodeCidrMaskSize: maskSize = DEFAULT_MASK_SIZE } = settings;
  let cluster: AddressRange;
  try {
    cluster = parseAddressRange(clusterCidr);
  } catch (error) {
    throw error instanceof RangeError ? new RangeError(`--cluster-cidr "${clusterCidr}" ${error.message}`) : error;
  }
  const most = Math.min(30, cluster.length + MOST_BITS);
  if (!Number.isInteger(maskSize) || maskSize < cluster.length || maskSize > most)
    throw new RangeError(`--node-cidr-mask-size ${maskSize} must be between ${cluster.length} and ${most} for ${clusterCidr}`);
  return { cluster, nodeLength: maskSize };
}

export const countOf = ({ cluster, nodeLength }: NodeRanges): number => 2 ** (nodeLength - cluster.length);

/** The ranges that a node holds, also those that are no part of the cluster's. */
export function rangesOf({ spec }: Node): AddressRange[] {
  return [...(spec?.podCIDRs ?? []), spec?.podCIDR ?? ''].flatMap((text) => {
    try {
      return [parseAddressRange(text)];
    } catch {
      // Of the other family, or none.
      return [];
    }
  });
}

/** A range that was given and may not show yet. */
export interface Given {
  readonly uid: string;
  readonly range: AddressRange;
}

export interface RangePlan {
  readonly give: readonly { readonly node: Node; readonly range: AddressRange }[];
  /** Nodes for which none is left. */
  readonly without: readonly Node[];
}

/**
 * Gives a range to each node that has none, in the order of their creation. `given` are those that nodes may have by
 * now, by name: such a node gets the same one again. The search begins behind the last one that is held, so that one
 * whose node has gone is given again late.
 */
export function decideRanges(ranges: NodeRanges, nodes: readonly Node[], given: ReadonlyMap<string, Given>): RangePlan {
  const held = new Set<number>();
  for (const node of nodes) for (const range of rangesOf(node)) hold(ranges, held, range);
  const alive = nodes.filter(({ metadata }) => !metadata?.deletionTimestamp);
  for (const node of nodes) for (const { range } of ownGiven(given, node)) hold(ranges, held, range);
  const count = countOf(ranges);
  let next = held.size === 0 ? 0 : Math.max(...held) + 1;
  const give: { node: Node; range: AddressRange }[] = [];
  const without: Node[] = [];
  for (const node of alive.filter(hasNone).toSorted(byCreation)) {
    const [known] = ownGiven(given, node);
    if (known) {
      give.push({ node, range: known.range });
      continue;
    }
    const block = freeFrom(next, count, held);
    if (block === undefined) without.push(node);
    else {
      held.add(block);
      next = block + 1;
      give.push({ node, range: blockRange(ranges, block) });
    }
  }
  return { give, without };
}

const hasNone = ({ spec }: Node): boolean => !spec?.podCIDR && (spec?.podCIDRs ?? []).length === 0;

/** What this very node was given, and not a later one of its name. */
function ownGiven(given: ReadonlyMap<string, Given>, { metadata }: Node): Given[] {
  const known = given.get(metadata?.name ?? '');
  return known && known.uid === metadata?.uid ? [known] : [];
}

function byCreation(a: Node, b: Node): number {
  const at = ({ metadata }: Node) => metadata?.creationTimestamp?.seconds ?? 0;
  return Number(at(a)) - Number(at(b)) || ((a.metadata?.name ?? '') < (b.metadata?.name ?? '') ? -1 : 1);
}

/** Marks all blocks of which a range has addresses. */
function hold(ranges: NodeRanges, held: Set<number>, range: AddressRange): void {
  const { cluster } = ranges;
  if (!overlap(cluster, range)) return;
  const { size } = blockRange(ranges, 0);
  const first = Math.max(0, Math.floor((range.first - cluster.first) / size));
  const last = Math.min(countOf(ranges) - 1, Math.floor((range.first + range.size - 1 - cluster.first) / size));
  for (let block = first; block <= last; block++) held.add(block);
}

function blockRange({ cluster, nodeLength }: NodeRanges, block: number): AddressRange {
  const { size } = rangeAround(cluster.first, nodeLength);
  return rangeAround(cluster.first + block * size, nodeLength);
}

function freeFrom(start: number, count: number, held: ReadonlySet<number>): number | undefined {
  if (held.size >= count) return undefined;
  for (let i = 0; i < count; i++) {
    const block = (start + i) % count;
    if (!held.has(block)) return block;
  }
  return undefined;
}
