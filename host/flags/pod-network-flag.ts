export const podNetworkHelp =
  "where new pods get their addresses from: the node's range (spec.podCIDR), which all nodes reach, or the engine's own network (default: routed; without root: engine)";

export type PodNetworkKind = 'engine' | 'routed';

/** What is wrong with the value of `--pod-network`. */
export const podNetworkError = (text: string): string | undefined =>
  text === 'engine' || text === 'routed' ? undefined : 'must be "engine" or "routed"';

/** The network of new pods. Only root makes links, routes and rules. */
export const podNetworkOf = (given: string | undefined, uid = process.getuid?.() ?? 0): PodNetworkKind => {
  if (given === 'engine' || given === 'routed') return given;
  return uid === 0 ? 'routed' : 'engine';
};

export const podRoutesHelp =
  'how packets get to pods of other nodes in the routed network: auto (direct to nodes on the same link, else vxlan), direct (the routers between know the ranges of pods) or vxlan';

export type PodRoutes = 'auto' | 'direct' | 'vxlan';

/** What is wrong with the value of `--pod-routes`. */
export const podRoutesError = (text: string): string | undefined =>
  ['auto', 'direct', 'vxlan'].includes(text) ? undefined : 'must be "auto", "direct" or "vxlan"';
