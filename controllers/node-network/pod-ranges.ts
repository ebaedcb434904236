import type { Node, NodeNetwork } from '../../api/generated/types.ts';
import { type AddressRange, parseAddressRange } from '../../api/meta/address-range.ts';
import { rangesOf } from '../node-ranges/decide.ts';

/** The most ranges besides the cluster's: each NodeNetwork lists all of them. */
const mostOthers = 64;

/** Whether a range has all addresses of another one. */
const covers = (wide: AddressRange, narrow: AddressRange): boolean =>
  wide.first <= narrow.first && narrow.first + narrow.size <= wide.first + wide.size;

/** The ranges of a node that are not within the cluster's, as after the start with another `--cluster-cidr`. */
export const rangesOutside = (cluster: AddressRange, node: Node): AddressRange[] =>
  rangesOf(node).filter((range) => !covers(cluster, range));

/**
 * Where pods may have addresses: the cluster's range, and for nodes that hold ranges outside of it the range that
 * NodeNetworks say it was before, or else the node's own. Without them all nodes would take these nodes' pods for
 * strangers. Pure.
 */
export function podRanges(clusterCidr: string, nodes: Iterable<Node>, networks: Iterable<NodeNetwork>): string[] {
  const cluster = parseAddressRange(clusterCidr);
  const outside = new Map<string, AddressRange>();
  for (const node of nodes) for (const range of rangesOutside(cluster, node)) outside.set(range.text, range);
  if (outside.size === 0) return [cluster.text];
  const before = new Map<string, AddressRange>();
  for (const { clusterCIDRs = [] } of networks)
    for (const text of clusterCIDRs) if (!before.has(text)) for (const range of parsed(text)) before.set(text, range);
  const others = new Set<string>();
  for (const range of outside.values()) {
    const around = [...before.values()].filter((each) => covers(each, range));
    others.add(around.reduce((widest, each) => (each.size > widest.size ? each : widest), range).text);
  }
  return [cluster.text, ...[...others].toSorted().slice(0, mostOthers)];
}

/** The range, or none where the text is no range of IPv4 addresses. */
export function parsed(text: string): AddressRange[] {
  try {
    return [parseAddressRange(text)];
  } catch {
    // Of the other family, or none.
    return [];
  }
}
