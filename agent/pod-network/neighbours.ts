import type { NodeNetwork } from '../../api/generated/types.ts';
import { type AddressRange, overlap, parseAddressRange } from '../../api/meta/address-range.ts';
import { ipVersion } from '../../api/meta/ip.ts';
import { wordsOf } from '../words-of.ts';
import type { Neighbour } from './node-routes.ts';

/** This node, as far as its neighbours matter. */
export interface OwnNode {
  readonly name: string;
  /** Its InternalIP. */
  readonly address: string;
  readonly range: AddressRange;
}

export interface Neighbours {
  readonly neighbours: readonly Neighbour[];
  /** Nodes without a route: a sentence each. */
  readonly refused: readonly string[];
}

/** The first IPv4 range of a node; undefined where it has none. */
export const rangeTextOf = ({ podCIDRs = [] }: NodeNetwork): string | undefined =>
  podCIDRs.find((each) => ipVersion(each.split('/')[0] ?? '') === 4);

/**
 * The nodes that routes lead to. Pure. Ranges that overlap are refused, the older NodeNetwork wins: a node that claims
 * another's range would get the packets of its pods. Agents on this machine make their own routes.
 */
export function computeNeighbours(all: readonly NodeNetwork[], own: OwnNode): Neighbours {
  const neighbours: Neighbour[] = [];
  const refused: string[] = [];
  const others = all
    .filter(({ metadata }) => metadata?.name !== own.name)
    .toSorted((a, b) => (a.metadata?.creationTimestamp?.seconds ?? 0) - (b.metadata?.creationTimestamp?.seconds ?? 0));
  for (const network of others) {
    const name = network.metadata?.name ?? '';
    const address = network.addresses?.find((each) => ipVersion(each) === 4);
    const text = rangeTextOf(network);
    if (address === undefined || text === undefined || address === own.address) continue;
    try {
      const range = parseAddressRange(text);
      if (overlap(range, own.range) || neighbours.some((other) => overlap(other.range, range)))
        throw new RangeError('has addresses that another node has too');
      neighbours.push({ name, address, range });
    } catch (error) {
      refused.push(`pods of node ${name} cannot be reached from here: its range ${text} ${wordsOf(error)}`);
    }
  }
  return { neighbours, refused };
}
