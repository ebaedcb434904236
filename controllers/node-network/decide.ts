import type { Node, NodeNetwork } from '../../api/generated/types.ts';
import { defaultNetwork } from '../../api/meta/cluster-ranges.ts';
import type { NodeRangeSettings } from '../node-ranges/decide.ts';

/** What is to be done with the NodeNetwork of one node. */
export type Step =
  | { readonly do: 'create' | 'update'; readonly object: NodeNetwork }
  | { readonly do: 'delete' }
  | { readonly do: 'nothing' };

/** What an operator says of the cluster's network. */
export interface NodeNetworkSettings extends NodeRangeSettings {
  /** Until the server's own range is known, which counts; "10.43.0.0/16" when absent. */
  readonly serviceCidr?: string | undefined;
  /** "cluster.local" when absent. */
  readonly clusterDomain?: string | undefined;
}

/**
 * The NodeNetwork says what the Node says, and what the whole cluster has; a node without a range of its own has none,
 * and so has one that is gone: then other nodes have no route to its pods. `whole`: `podRanges` and `serviceRanges`.
 */
export function decideNodeNetwork(
  node: Node | undefined,
  stored: NodeNetwork | undefined,
  settings: NodeNetworkSettings = {},
  whole: { readonly pods?: readonly string[]; readonly services?: readonly string[] } = {},
): Step {
  const ranges = rangesOf(node);
  if (node === undefined || ranges.length === 0) return { do: stored ? 'delete' : 'nothing' };
  const addresses = (node.status?.addresses ?? []).flatMap(({ type, address }) =>
    type === 'InternalIP' && address ? [address] : [],
  );
  const { name = '' } = node.metadata ?? {};
  const { clusterCidr = defaultNetwork.clusterCidr, serviceCidr = defaultNetwork.serviceCidr } = settings;
  const { clusterDomain = defaultNetwork.clusterDomain } = settings;
  const { pods: clusterCIDRs = [clusterCidr], services: serviceCIDRs = [serviceCidr] } = whole;
  const shared = { clusterCIDRs: [...clusterCIDRs], serviceCIDRs: [...serviceCIDRs], clusterDomain };
  const wanted = { addresses, podCIDRs: ranges, ...shared };
  if (!stored) return { do: 'create', object: { metadata: { name }, ...wanted } };
  const isSame = (['addresses', 'podCIDRs', 'clusterCIDRs', 'serviceCIDRs'] as const).every((field) =>
    isEqual(stored[field], wanted[field]),
  );
  if (isSame && stored.clusterDomain === clusterDomain) return { do: 'nothing' };
  return { do: 'update', object: { metadata: { ...stored.metadata, name }, ...wanted } };
}

function rangesOf(node: Node | undefined): string[] {
  const { podCIDR, podCIDRs = [] } = node?.spec ?? {};
  if (podCIDRs.length > 0) return podCIDRs;
  return podCIDR ? [podCIDR] : [];
}

const isEqual = (a: readonly string[] = [], b: readonly string[]): boolean =>
  a.length === b.length && a.every((each, i) => each === b[i]);
