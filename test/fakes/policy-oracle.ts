import type { LabelSelector, NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from '../../api/generated/types.ts';

// What Kubernetes' documentation says of network policies, word by word and slowly: tests compare with it. It shares no
// code with what nodes do.

/** One end of a connection: a pod, or a machine outside with an address alone. */
export interface End {
  readonly address: string;
  readonly pod?: {
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly namespaceLabels: Readonly<Record<string, string>>;
    readonly ports?: readonly { readonly name: string; readonly protocol: string; readonly containerPort: number }[];
  };
}

export interface Connection {
  readonly from: End;
  readonly to: End;
  readonly protocol: string;
  readonly port: number;
}

/** Both ends have to allow it; a pod always reaches itself. */
export function allows(policies: readonly NetworkPolicy[], connection: Connection): boolean {
  const { from, to } = connection;
  if (from.address === to.address) return true;
  return endAllows(policies, 'Egress', from, to, connection) && endAllows(policies, 'Ingress', to, from, connection);
}

type PolicyType = 'Ingress' | 'Egress';

function endAllows(policies: readonly NetworkPolicy[], type: PolicyType, end: End, other: End, connection: Connection): boolean {
  const { pod } = end;
  if (pod === undefined) return true;
  const isolating = policies.filter(
    ({ metadata, spec = {} }) =>
      metadata?.namespace === pod.namespace && typesOf(spec).includes(type) && selectorHolds(spec.podSelector ?? {}, pod.labels),
  );
  if (isolating.length === 0) return true;
  for (const { spec = {} } of isolating) {
    const rules =
      type === 'Ingress'
        ? (spec.ingress ?? []).map(({ from = [], ports = [] }) => ({ peers: from, ports }))
        : (spec.egress ?? []).map(({ to = [], ports = [] }) => ({ peers: to, ports }));
    for (const { peers, ports } of rules) {
      const isPeer = peers.length === 0 || peers.some((peer) => peerHolds(peer, pod.namespace, other));
      if (isPeer && (ports.length === 0 || ports.some((port) => portHolds(port, connection)))) return true;
    }
  }
  return false;
}

function typesOf({ policyTypes = [], egress = [] }: NonNullable<NetworkPolicy['spec']>): readonly string[] {
  if (policyTypes.length > 0) return policyTypes;
  return egress.length > 0 ? ['Ingress', 'Egress'] : ['Ingress'];
}

function peerHolds({ podSelector, namespaceSelector, ipBlock }: NetworkPolicyPeer, namespace: string, other: End): boolean {
  if (ipBlock) {
    if (!isIn(ipBlock.cidr ?? '', other.address)) return false;
    return !(ipBlock.except ?? []).some((hole) => isIn(hole, other.address));
  }
  if (other.pod === undefined || (!podSelector && !namespaceSelector)) return false;
  if (namespaceSelector) {
    if (!selectorHolds(namespaceSelector, other.pod.namespaceLabels)) return false;
  } else if (other.pod.namespace !== namespace) return false;
  return !podSelector || selectorHolds(podSelector, other.pod.labels);
}

function portHolds({ protocol = 'TCP', port, endPort }: NetworkPolicyPort, connection: Connection): boolean {
  if (protocol !== connection.protocol) return false;
  if (port === undefined) return true;
  if (port.type === 1) {
    const named = (connection.to.pod?.ports ?? []).filter((each) => each.name === port.strVal && each.protocol === protocol);
    return named.some(({ containerPort }) => containerPort === connection.port);
  }
  const first = port.intVal ?? 0;
  return connection.port >= first && connection.port <= (endPort ?? first);
}

function selectorHolds({ matchLabels = {}, matchExpressions = [] }: LabelSelector, labels: Readonly<Record<string, string>>) {
  for (const [key, value] of Object.entries(matchLabels)) if (labels[key] !== value) return false;
  for (const { key = '', operator, values = [] } of matchExpressions) {
    const has = key in labels;
    const isListed = has && values.includes(labels[key]!);
    if (operator === 'In' && !isListed) return false;
    if (operator === 'NotIn' && isListed) return false;
    if (operator === 'Exists' && !has) return false;
    if (operator === 'DoesNotExist' && has) return false;
  }
  return true;
}

const bitsOf = (address: string): string =>
  address
    .split('.')
    .map((octet) => Number(octet).toString(2).padStart(8, '0'))
    .join('');

function isIn(cidr: string, address: string): boolean {
  const [network = '', length = ''] = cidr.split('/');
  if (network.includes(':')) return false;
  return bitsOf(network).slice(0, Number(length)) === bitsOf(address).slice(0, Number(length));
}
