import type { Node, NodeNetwork } from '../../api/generated/types.ts';

/** What is to be done with the NodeNetwork of one node. */
export type Step =
  | { readonly do: 'create' | 'update'; readonly object: NodeNetwork }
  | { readonly do: 'delete' }
  | { readonly do: 'nothing' };

/**
 * The NodeNetwork says what the Node says; a node without a range of its own has none, and so has one that is gone:
 * then other nodes have no route to its pods.
 */
export function decideNodeNetwork(node: Node | undefined, stored: NodeNetwork | undefined): Step {
  const ranges = rangesOf(node);
  if (node === undefined || ranges.length === 0) return { do: stored ? 'delete' : 'nothing' };
  const addresses = (node.status?.addresses ?? []).flatMap(({ type, address }) =>
    type === 'InternalIP' && address ? [address] : [],
  );
  const { name = '' } = node.metadata ?? {};
  const wanted: NodeNetwork = { metadata: { name }, addresses, podCIDRs: ranges };
  if (!stored) return { do: 'create', object: wanted };
  if (isSame(stored.addresses, addresses) && isSame(stored.podCIDRs, ranges)) return { do: 'nothing' };
  return { do: 'update', object: { ...wanted, metadata: { ...stored.metadata, name } } };
}

function rangesOf(node: Node | undefined): string[] {
  const { podCIDR, podCIDRs = [] } = node?.spec ?? {};
  if (podCIDRs.length > 0) return podCIDRs;
  return podCIDR ? [podCIDR] : [];
}

const isSame = (a: readonly string[] = [], b: readonly string[]): boolean =>
  a.length === b.length && a.every((each, i) => each === b[i]);
