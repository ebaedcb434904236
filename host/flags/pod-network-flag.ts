export const podNetworkHelp =
  "where new pods get their addresses from: the engine's own network, or the node's range (spec.podCIDR), which all nodes reach";

export type PodNetworkKind = 'engine' | 'routed';

/** What is wrong with the value of `--pod-network`. */
export const podNetworkError = (text: string): string | undefined =>
  text === 'engine' || text === 'routed' ? undefined : 'must be "engine" or "routed"';
