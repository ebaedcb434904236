import { isIPv4 } from 'node:net';
import type { NamedPort } from '../../api/kinds/pod/named-ports.ts';
import { digestOf, type PodGroup, type PolicyPorts, type PolicyRule } from './compile-policy.ts';
import type { Direction, PodFacts, PolicyPod } from './facts.ts';
import { addressesText, mergePorts, type PortRange, portsText, type Range } from './ranges.ts';

/** A set that pods come into and leave. */
export interface PeerSet {
  readonly name: string;
  /** Addresses, or addresses with protocol and port. */
  readonly type: 'addresses' | 'ports';
  /** The namespace of its pods; undefined: pods of all namespaces. */
  readonly namespace: string | undefined;
  /** What a pod has in it. */
  elementsOf(pod: PolicyPod): readonly string[];
}

/** What a rule of a chain compares; all that is there has to hold. */
export interface PacketMatch {
  /** The other end is one of these. */
  readonly peers?: { readonly set: PeerSet } | { readonly blocks: readonly Range[] };
  readonly ports?: readonly PortRange[];
  /** Destination, protocol and port are in this set. */
  readonly named?: PeerSet;
}

/** A chain that returns for what is allowed, and drops the rest. */
export interface GroupChain {
  readonly name: string;
  readonly matches: readonly PacketMatch[];
  readonly rules: readonly string[];
  readonly sets: readonly PeerSet[];
  /** What it takes of the table: its rules, with their blocks and ports. */
  readonly pieces: number;
}

/**
 * What becomes of connections of a pod in one direction: undefined for a pod that is not isolated. One whose chain
 * would be too large ('oversized'), or for whose chain its namespace has no room ('crowded'), has none.
 */
export type Isolation = GroupChain | 'closed' | 'oversized' | 'crowded' | undefined;

/** nft takes about 1 s for so many. */
const mostPieces = 10_000;

interface RenderedMatch {
  readonly match: PacketMatch;
  readonly text: string;
  readonly pieces: number;
}

/**
 * Pure. `rules`: of all policies that isolate the pod in this direction. Pods with the same answer share a chain, as
 * its name is computed from what it says.
 */
export function compileGroup(direction: Direction, rules: readonly PolicyRule[], pod: PodFacts): Isolation {
  if (rules.some(({ peers, ports }) => peers === undefined && ports === undefined)) return undefined;
  const byText = new Map<string, PacketMatch>();
  let pieces = 0;
  for (const rule of rules) {
    for (const { match, text, pieces: more } of renderedMatches(direction, rule, pod)) {
      if (byText.has(text)) continue;
      byText.set(text, match);
      pieces += more;
    }
    if (pieces > mostPieces) return 'oversized';
  }
  if (byText.size === 0) return 'closed';
  const texts = [...byText.keys()].toSorted();
  const matches = texts.map((text) => byText.get(text)!);
  const sets = new Map(matches.flatMap(setsOf).map((set) => [set.name, set]));
  return {
    name: `${direction}_${digestOf(texts.join('\n'))}`,
    matches,
    rules: [...texts.map((text) => `${text} return`), 'drop'],
    sets: [...sets.values()],
    pieces,
  };
}

/** Of rules that say the same for all pods. A rule is one of either direction. */
const renderedBefore = new WeakMap<PolicyRule, readonly RenderedMatch[]>();

function renderedMatches(direction: Direction, rule: PolicyRule, pod: PodFacts): readonly RenderedMatch[] {
  const before = renderedBefore.get(rule);
  if (before) return before;
  const rendered = matchesOf(direction, rule, pod).map((match) => {
    const { peers, ports = [] } = match;
    const blocks = peers && 'blocks' in peers ? peers.blocks.length : 0;
    return { match, text: renderMatch(direction, match), pieces: 1 + blocks + ports.length };
  });
  if (direction === 'egress' || !rule.ports?.names.length) renderedBefore.set(rule, rendered);
  return rendered;
}

const setsOf = ({ peers, named }: PacketMatch): PeerSet[] => [
  ...(peers !== undefined && 'set' in peers ? [peers.set] : []),
  ...(named === undefined ? [] : [named]),
];

function matchesOf(direction: Direction, { peers, ports }: PolicyRule, pod: PodFacts): PacketMatch[] {
  const ranges = ports && rangesFor(direction, ports, pod);
  const matches: PacketMatch[] = [];
  if (ranges === undefined || ranges.length > 0) {
    const at = ranges && { ports: ranges };
    if (peers === undefined) matches.push({ ...at });
    if (peers?.pods) matches.push({ peers: { set: addressSet(peers.pods) }, ...at });
    if (peers && peers.blocks.length > 0) matches.push({ peers: { blocks: peers.blocks }, ...at });
  }
  // Ports by name at the other end are those of each pod there, also of a pod whose address is in a block.
  if (direction === 'egress' && ports && ports.names.length > 0) {
    if (peers === undefined || peers.pods) matches.push({ named: portSet(peers?.pods, ports) });
    if (peers && peers.blocks.length > 0) matches.push({ peers: { blocks: peers.blocks }, named: portSet(undefined, ports) });
  }
  return matches;
}

/** Ports by name at this end are known. */
function rangesFor(direction: Direction, { ranges, names }: PolicyPorts, { ports }: PodFacts): readonly PortRange[] {
  const known = direction === 'egress' ? [] : ports.filter((port) => isNamed(names, port));
  if (known.length === 0) return ranges;
  return mergePorts([
    ...ranges,
    ...known.map(({ protocol, containerPort }) => ({
      ...{ protocol: protocol.toLowerCase(), first: containerPort, last: containerPort },
    })),
  ]);
}

const isNamed = (names: PolicyPorts['names'], port: NamedPort): boolean =>
  names.some(({ name, protocol }) => name === port.name && protocol === port.protocol);

const ownAddresses = ({ addresses }: PolicyPod): readonly string[] => addresses.filter(isIPv4);

const addressSet = (group: PodGroup): PeerSet => ({
  ...{ name: `pods_${group.id}`, type: 'addresses', namespace: group.namespace },
  elementsOf: (pod) => (group.has(pod) ? ownAddresses(pod) : []),
});

/** `group` undefined: of all pods. */
function portSet(group: PodGroup | undefined, { names }: PolicyPorts): PeerSet {
  const words = names.map(({ name, protocol }) => `${protocol} ${name}`).toSorted();
  return {
    name: `ports_${digestOf([group?.id ?? '', ...words].join('\n'))}`,
    ...{ type: 'ports', namespace: group?.namespace },
    elementsOf: (pod) => {
      const ports = group === undefined || group.has(pod) ? pod.ports.filter((port) => isNamed(names, port)) : [];
      const places = ports.map(({ protocol, containerPort }) => `${protocol.toLowerCase()} . ${containerPort}`);
      return ownAddresses(pod).flatMap((address) => [...new Set(places)].map((place) => `${address} . ${place}`));
    },
  };
}

/** As nft writes it. */
function renderMatch(direction: Direction, { peers, ports, named }: PacketMatch): string {
  const parts: string[] = [];
  const place = direction === 'ingress' ? 'ip saddr' : 'ip daddr';
  if (peers)
    parts.push(`${place} ${'set' in peers ? `@${peers.set.name}` : `{ ${peers.blocks.map(addressesText).join(', ')} }`}`);
  if (named) parts.push(`ip daddr . meta l4proto . th dport @${named.name}`);
  if (ports) parts.push(`meta l4proto . th dport { ${ports.map(portsText).join(', ')} }`);
  return parts.join(' ');
}
