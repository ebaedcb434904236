import { createHash } from 'node:crypto';
import type { IPBlock, LabelSelector, NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from '../../api/generated/types.ts';
import { compileLabelSelector, type LabelMatcher, type Labels } from '../../api/meta/labels.ts';
import type { PolicyPod } from './facts.ts';
import {
  addressesOf,
  isEverywhere,
  lastPort,
  mergePorts,
  mergeRanges,
  type PortRange,
  type Range,
  subtractRanges,
} from './ranges.ts';
import { indexSelectors } from './selector-index.ts';

/** A policy as this node carries it out. */
export interface CompiledPolicy {
  readonly namespace: string;
  /** Whether it isolates a pod of its namespace with these labels. */
  selects(labels: Labels): boolean;
  /** What it allows; undefined where it does not isolate in this direction. */
  readonly ingress: readonly PolicyRule[] | undefined;
  readonly egress: readonly PolicyRule[] | undefined;
}

/** Connections with one of the peers, to one of the ports. */
export interface PolicyRule {
  /** Undefined: all. */
  readonly peers: PolicyPeers | undefined;
  readonly ports: PolicyPorts | undefined;
}

export interface PolicyPeers {
  /** Pods; undefined where none is meant. */
  readonly pods: PodGroup | undefined;
  /** Addresses of IPv4, merged. */
  readonly blocks: readonly Range[];
}

/** Pods that some selectors choose. */
export interface PodGroup {
  /** 16 digits; groups of the same selectors have the same. */
  readonly id: string;
  /** The namespace of its pods; undefined: pods of all namespaces. */
  readonly namespace: string | undefined;
  has(pod: PolicyPod): boolean;
}

export interface PolicyPorts {
  /** Merged. */
  readonly ranges: readonly PortRange[];
  readonly names: readonly { readonly name: string; readonly protocol: string }[];
}

const protocols: readonly string[] = ['TCP', 'UDP', 'SCTP'];
const isDirection = (type: string): boolean => type === 'Ingress' || type === 'Egress';

export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);

/**
 * Pure. Fails closed: what this version does not understand allows nothing. A pod selector that it cannot read isolates
 * all pods of the namespace, an unknown type of policy isolates in both directions.
 */
export function compilePolicy({ metadata, spec = {} }: NetworkPolicy): CompiledPolicy {
  const namespace = metadata?.namespace ?? '';
  const { podSelector = {}, ingress, egress, policyTypes = [] } = spec;
  const chosen = compileLabelSelector(podSelector);
  const applies = (type: 'Ingress' | 'Egress', isDefault: boolean): boolean =>
    policyTypes.includes(type) || (policyTypes.length === 0 && isDefault) || !policyTypes.every(isDirection);
  const rulesOf = (rules: readonly RuleFields[]): PolicyRule[] =>
    chosen === undefined ? [] : rules.flatMap((rule) => compileRule(rule, namespace) ?? []);
  return {
    namespace,
    selects: (labels) => chosen === undefined || chosen.matches(labels),
    ingress: applies('Ingress', true)
      ? rulesOf((ingress ?? []).map(({ from, ports }) => ({ peers: from ?? [], ports: ports ?? [] })))
      : undefined,
    egress: applies('Egress', (egress ?? []).length > 0)
      ? rulesOf((egress ?? []).map(({ to, ports }) => ({ peers: to ?? [], ports: ports ?? [] })))
      : undefined,
  };
}

interface RuleFields {
  readonly peers: readonly NetworkPolicyPeer[];
  readonly ports: readonly NetworkPolicyPort[];
}

/** Undefined for a rule that allows nothing. */
function compileRule({ peers, ports }: RuleFields, namespace: string): PolicyRule | undefined {
  const to = peers.length === 0 ? undefined : compilePeers(peers, namespace);
  const at = ports.length === 0 ? undefined : compilePorts(ports);
  if (to !== undefined && to.pods === undefined && to.blocks.length === 0) return undefined;
  if (at !== undefined && at.ranges.length === 0 && at.names.length === 0) return undefined;
  // There is no other address than one of IPv4.
  return { peers: to !== undefined && isEverywhere(to.blocks) ? undefined : to, ports: at };
}

function compilePeers(peers: readonly NetworkPolicyPeer[], namespace: string): PolicyPeers {
  const blocks = peers.flatMap(({ ipBlock, podSelector, namespaceSelector }) =>
    ipBlock === undefined || podSelector || namespaceSelector ? [] : compileBlock(ipBlock),
  );
  const selectors = peers.flatMap((peer) => compileSelectors(peer, namespace) ?? []);
  return { pods: selectors.length === 0 ? undefined : groupOf(selectors, namespace), blocks: mergeRanges(blocks) };
}

/** Nothing where a part of it is no range: a hole that is not understood may be all of it. */
function compileBlock({ cidr = '', except = [] }: IPBlock): Range[] {
  const whole = addressesOf(cidr);
  const holes = except.map(addressesOf);
  if (whole === undefined || holes.includes(undefined)) return [];
  return subtractRanges(whole, holes as Range[]);
}

interface Selectors {
  readonly key: string;
  /** Undefined: pods of the policy's namespace. */
  readonly namespaces: LabelMatcher | undefined;
  /** Undefined: all. */
  readonly pods: LabelMatcher | undefined;
}

/** Undefined for no selector, and for one with an operator that is not known. */
function compileSelectors(
  { podSelector, namespaceSelector, ipBlock }: NetworkPolicyPeer,
  namespace: string,
): Selectors | undefined {
  if (ipBlock !== undefined || (podSelector === undefined && namespaceSelector === undefined)) return undefined;
  const [pods, namespaces] = [podSelector && compileLabelSelector(podSelector), compileNamespaces(namespaceSelector)];
  if ((podSelector && !pods) || namespaces === 'unknown') return undefined;
  const key = JSON.stringify([namespaceSelector ?? namespace, podSelector ?? {}]);
  return { key, namespaces, pods };
}

const compileNamespaces = (selector: LabelSelector | undefined): LabelMatcher | undefined | 'unknown' =>
  selector && (compileLabelSelector(selector) ?? 'unknown');

function groupOf(selectors: readonly Selectors[], namespace: string): PodGroup {
  const byKey = new Map(selectors.map((each) => [each.key, each]));
  const keys = [...byKey.keys()].toSorted();
  const candidates = indexSelectors([...byKey.values()]);
  return {
    id: digestOf(keys.join('\n')),
    namespace: selectors.every(({ namespaces }) => namespaces === undefined) ? namespace : undefined,
    has: (pod) => {
      for (const { namespaces, pods } of candidates(pod))
        if (
          (namespaces === undefined ? pod.namespace === namespace : namespaces.matches(pod.namespaceLabels)) &&
          (pods === undefined || pods.matches(pod.labels))
        )
          return true;
      return false;
    },
  };
}

function compilePorts(ports: readonly NetworkPolicyPort[]): PolicyPorts {
  const ranges: PortRange[] = [];
  const names: { name: string; protocol: string }[] = [];
  for (const { protocol: given = 'TCP', port, endPort } of ports) {
    if (!protocols.includes(given)) continue;
    const protocol = given.toLowerCase();
    if (port === undefined) ranges.push({ protocol, first: 0, last: lastPort });
    else if (port.type === 1) names.push({ name: port.strVal ?? '', protocol: given });
    else {
      const first = port.intVal ?? 0;
      const last = endPort ?? first;
      if (first >= 1 && first <= last && last <= lastPort) ranges.push({ protocol, first, last });
    }
  }
  return { ranges: mergePorts(ranges), names };
}
