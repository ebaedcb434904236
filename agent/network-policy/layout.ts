// The table: its maps, and the chains that packets pass through.
import { isIPv4 } from 'node:net';
import type { TableKind, TableOwner } from '../nft/kept-table.ts';
import type { PeerSet } from './compile-group.ts';

/** Its tables are called berthpolicy_CLUSTER_NODE_0 and berthpolicy_CLUSTER_NODE_1. */
export const policyTableKind: TableKind = { prefix: 'berthpolicy', family: 'inet', words: 'the table of network policies' };

export interface PolicyTableSettings extends TableOwner {
  /** Links that pods are behind, as nft matches names: "bth*". */
  readonly podLinks: string;
  /** Where the node's own resolver answers. Pods reach it whatever policies say. */
  readonly gateway: string;
  /** The service address of the other nodes' resolvers; undefined where it is not known. The same holds for it. */
  readonly names: string | undefined;
}

/**
 * Maps and sets by name, with their types, that every table has. A pod of this node that is isolated stands in
 * `ingress` or `egress` with the chain that says what is allowed.
 */
export const baseSets = {
  ingress: 'map type ipv4_addr : verdict',
  egress: 'map type ipv4_addr : verdict',
  /** Isolated pods, each twice: a pod may always reach itself, also through a Service. */
  itself: 'set type ipv4_addr . ipv4_addr',
} as const;

export type BaseSet = keyof typeof baseSets;

const typesOfPeerSets = { addresses: 'ipv4_addr', ports: 'ipv4_addr . inet_proto . inet_service' } as const;

const dns = '{ tcp . 53, udp . 53 }';

/** Rejects what nft would take for something else. */
export function checkPolicySettings({ cluster, node, gateway, names, podLinks }: PolicyTableSettings): void {
  for (const [of, text] of [
    ['cluster', cluster],
    ['node', node],
  ]) {
    if (!/^[A-Za-z0-9.-]+$/.test(text!))
      throw new Error(`create policy table: "${text}" is no name of a ${of} (letters, digits, "-" and ".")`);
  }
  for (const address of [gateway, ...(names === undefined ? [] : [names])])
    if (!isIPv4(address)) throw new Error(`create policy table: "${address}" is no IPv4 address`);
  if (!/^[a-z0-9]+\*?$/.test(podLinks)) throw new Error(`create policy table: "${podLinks}" is no name of links such as "bth*"`);
}

export const renderSet = (table: string, { name, type }: Pick<PeerSet, 'name' | 'type'>): string =>
  `add set inet ${table} ${name} { type ${typesOfPeerSets[type]}; }`;

export const renderChain = (table: string, name: string, rules: readonly string[]): string =>
  [`add chain inet ${table} ${name}`, ...rules.map((rule) => `add rule inet ${table} ${name} ${rule}`)].join('; ');

/** Commands that make the table without anything that packets pass through. A table of this name is deleted first. */
export function renderEmptyTable(table: string): string {
  const sets = Object.entries(baseSets).map(([name, definition]) => {
    const [kind, ...type] = definition.split(' ');
    return `add ${kind} inet ${table} ${name} { ${type.join(' ')}; }`;
  });
  return [`add table inet ${table}`, `delete table inet ${table}`, `add table inet ${table}`, ...sets].join('; ');
}

/**
 * Commands that put a filled table in force. Policies are looked at once, for the first packet of a connection, after
 * the addresses of Services became those of pods. What this node's own programs send to its pods passes none of it.
 */
export function renderEntry(table: string, { podLinks, gateway, names }: PolicyTableSettings): string {
  const established = 'ct state established,related accept';
  // One rule for each protocol: nft (1.0.6) reads the port as a number of another byte order otherwise.
  const namesElsewhere = (names === undefined ? [] : ['tcp', 'udp']).map(
    (protocol) =>
      `meta l4proto ${protocol} ct original ip daddr ${names} meta l4proto . ct original proto-dst { ${protocol} . 53 } accept`,
  );
  return [
    ...baseChain(table, 'arriving', 'prerouting priority raw', [
      `iifname "${podLinks}" meta nfproto ipv6 drop`,
      // Only what has a route back over the same link: the pod's own address.
      `iifname "${podLinks}" fib saddr . iif oif missing drop`,
      // Links of host ports at 127.0.0.1 have `route_localnet`: pods would reach what listens on loopback alone.
      `iifname "${podLinks}" ip daddr 127.0.0.0/8 drop`,
    ]),
    ...baseChain(table, 'forwarded', 'forward priority filter', [
      established,
      ...namesElsewhere,
      'ip saddr . ip daddr @itself accept',
      'ip saddr vmap @egress',
      'ip daddr vmap @ingress',
    ]),
    // To the node itself.
    ...baseChain(table, 'received', 'input priority filter', [
      established,
      `ip daddr ${gateway} meta l4proto . th dport ${dns} accept`,
      'ip saddr vmap @egress',
    ]),
    `add chain inet ${table} in_force`,
  ].join('; ');
}

function baseChain(table: string, name: string, hook: string, rules: readonly string[]): string[] {
  return [
    `add chain inet ${table} ${name} { type filter hook ${hook}; policy accept; }`,
    ...rules.map((rule) => `add rule inet ${table} ${name} ${rule}`),
  ];
}
