import type { Node } from '../api/generated/types.ts';
import { equalValues } from '../api/meta/equal.ts';
import { blockContains, blockOfAddress, type IpBlock, parseIpBlock } from '../api/meta/ip-block.ts';

/** The ranges of a node, as text. */
const rangesIn = ({ spec }: Node): readonly string[] =>
  spec?.podCIDRs?.length ? spec.podCIDRs : spec?.podCIDR ? [spec.podCIDR] : [];

export const hasOtherRanges = (next: Node, old: Node): boolean => !equalValues(rangesIn(next), rangesIn(old));

/** The ranges of the node with this name; none where it has none yet. */
export type RangesOf = (nodeName: string) => readonly IpBlock[];

/** The ranges of nodes, each parsed once. */
export function rememberRanges(nodeOf: (name: string) => Node | undefined): RangesOf {
  const known = new Map<string, readonly IpBlock[]>();
  return (name) => {
    const ranges = known.get(name) ?? rangesIn(nodeOf(name) ?? {}).flatMap((text) => parseIpBlock(text) ?? []);
    known.set(name, ranges);
    return ranges;
  };
}

export function isInRanges(text: string, ranges: readonly IpBlock[]): boolean {
  const address = blockOfAddress(text);
  return address !== undefined && ranges.some((range) => blockContains(range, address));
}
