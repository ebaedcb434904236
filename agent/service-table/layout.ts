// The table: its maps, its chains, and what a chain for a number of endpoints says.
import { isIPv4 } from 'node:net';
import type { TableKind } from '../nft/kept-table.ts';

export interface TableSettings {
  readonly cluster: string;
  /** The node, which policy Local keeps connections on. */
  readonly node: string;
  /** The addresses of pods, as CIDRs; at least one. Everything else that arrives is "from outside". */
  readonly podRanges: readonly string[];
  /** The addresses of Services, as CIDRs; at least one. Those that no Service has are refused. */
  readonly serviceRanges: readonly string[];
  /** Where the API server is: never translated, so that no Service stands between it and the agents. */
  readonly server?: { readonly host: string; readonly port: number } | undefined;
  /**
   * The Services of the API server, which lead to this agent's own relay: of all pods only those of this node's `range`
   * are led there. Of two agents on one machine the other's may have ended.
   */
  readonly relayed?: { readonly addresses: readonly string[]; readonly range: string } | undefined;
}

const addressPort = 'ipv4_addr . inet_proto . inet_service';
const portOnly = 'inet_proto . inet_service';
const endpoint = 'ipv4_addr . inet_service';

/**
 * Maps and sets by name, with their types. "outside" stands for traffic that does not come from pods or this node,
 * where policy Local has endpoints of its own. Keys with "mark" are looked up with the connection's mark. They have
 * plain types: nft (1.0.6) refuses rules with a map of `typeof numgen` that it reads back from the kernel.
 */
export const sets = {
  /** address . protocol . port -> the chain for the number of its endpoints. */
  services: `map type ${addressPort} : verdict`,
  outside: `map type ${addressPort} : verdict`,
  ports: `map type ${portOnly} : verdict`,
  outside_ports: `map type ${portOnly} : verdict`,
  /** address . protocol . port . index -> endpoint. */
  endpoints: `map type ${addressPort} . mark : ${endpoint}`,
  port_endpoints: `map type ${portOnly} . mark : ${endpoint}`,
  /** With affinity the same, but -> the endpoint's address as a number. */
  choices: `map type ${addressPort} . mark : mark`,
  port_choices: `map type ${portOnly} . mark : mark`,
  /** address . protocol . port . endpoint's address as a number -> endpoint: those that affinity may still name. */
  living: `map type ${addressPort} . mark : ${endpoint}`,
  living_outside: `map type ${addressPort} . mark : ${endpoint}`,
  port_living: `map type ${portOnly} . mark : ${endpoint}`,
  port_living_outside: `map type ${portOnly} . mark : ${endpoint}`,
  /** Whatever is no cluster address. */
  external: `set type ${addressPort}`,
  external_ports: `set type ${portOnly}`,
  /** Endpoints of this node, twice: what comes from one and returns to it. */
  hairpin: 'set type ipv4_addr . ipv4_addr',
  /** External addresses: whether the client's address is kept. */
  sources: `map type ${addressPort} : verdict`,
  masqueraded_ports: `set type ${portOnly}`,
  /** Ports on single addresses of the node that another program listens on. */
  held: `set type ${addressPort}`,
  /** Fronts that only some sources may use. */
  guarded: `set type ${addressPort}`,
  /** address . protocol . port . source: who may use a guarded front. */
  allowed: `set type ${addressPort} . ipv4_addr; flags interval`,
} as const;

export type SetName = keyof typeof sets;

/** Indexes of the endpoints for traffic from outside begin here, in the same map. */
export const outsideOffset = 1 << 20;
/** How many clients of Services with affinity are remembered; beyond that they are spread as without affinity. */
const affinitySize = 262_144;
/** Chains without affinity for up to so many endpoints always exist, so that the usual change needs no new chain. */
const standing = 16;

/** A chain for a number of endpoints. */
export interface Spread {
  readonly scope: 'address' | 'port';
  readonly from: 'any' | 'outside';
  readonly count: number;
  readonly affinitySeconds?: number | undefined;
}

export function nameOfChain({ scope, from, count, affinitySeconds }: Spread): string {
  const affinity = affinitySeconds === undefined ? '' : `_for_${affinitySeconds}`;
  return `${scope}_${from}_${count}${affinity}`;
}

export const isStanding = (spread: Spread): boolean =>
  spread.scope === 'address' && spread.from === 'any' && spread.affinitySeconds === undefined && spread.count <= standing;

const client = 'ip saddr . ip daddr . meta l4proto . th dport';

/**
 * The rules of a chain. The choice travels in the connection's mark, never in the packet's: a packet of this node is
 * routed again before anything could clear that, and rules of others may route by it.
 */
export function rulesOfChain({ scope, from, count, affinitySeconds }: Spread): string[] {
  const front = scope === 'address' ? 'ip daddr . meta l4proto . th dport' : 'meta l4proto . th dport';
  const prefix = scope === 'address' ? '' : 'port_';
  const number = `numgen random mod ${count}${from === 'outside' ? ` offset ${outsideOffset}` : ''}`;
  if (affinitySeconds === undefined) {
    return [`ct mark set ${number}`, `dnat ip to ${front} . ct mark map @${prefix}endpoints`];
  }
  const known = `@${prefix}living${from === 'outside' ? '_outside' : ''}`;
  const remember = `{ ${client} timeout ${affinitySeconds}s : ct mark }`;
  return [
    'ct mark set 0',
    `ct mark set ${client} map @affinity`,
    `ct mark != 0 update @affinity ${remember}`,
    `dnat ip to ${front} . ct mark map ${known}`,
    // An update leaves the address of an entry as it is, so the entry of an endpoint that has gone is deleted.
    `delete @affinity { ${client} : ct mark }`,
    `ct mark set ${number}`,
    `ct mark set ${front} . ct mark map @${prefix}choices`,
    `update @affinity ${remember}`,
    `dnat ip to ${front} . ct mark map ${known}`,
  ];
}

/** Its tables are called berth_CLUSTER_NODE_0 and berth_CLUSTER_NODE_1. */
export const serviceTableKind: TableKind = { prefix: 'berth', family: 'ip', words: 'the table of services' };

/** Rejects names and ranges that nft would take for something else. */
export function checkSettings(settings: TableSettings): void {
  for (const name of ['cluster', 'node'] as const) {
    if (/^[A-Za-z0-9.-]+$/.test(settings[name])) continue;
    throw new Error(`create service table: "${settings[name]}" is no name of a ${name} (letters, digits, "-" and ".")`);
  }
  for (const name of ['podRanges', 'serviceRanges'] as const) {
    const isRange = (range: string): boolean => /^[^/]+\/(3[0-2]|[12]?\d)$/.test(range) && isIPv4(range.split('/')[0]!);
    const wrong = settings[name].find((range) => !isRange(range));
    if (wrong !== undefined) throw new Error(`create service table: "${wrong}" of ${name} is no IPv4 range such as 10.42.0.0/16`);
    if (settings[name].length === 0) throw new Error(`create service table: ${name} names no range`);
  }
}

/** Commands that make the table without anything that packets pass through. A table of this name is deleted first. */
export function renderEmptyTable(table: string, settings: TableSettings): string {
  const named = Object.entries(sets).map(([name, definition]) => {
    const [kind, ...type] = definition.split(' ');
    return `add ${kind} ip ${table} ${name} { ${type.join(' ')}; }`;
  });
  const chains = Array.from({ length: standing }, (_, index) =>
    renderChain(table, { scope: 'address', from: 'any', count: index + 1 }),
  );
  return [
    `add table ip ${table}`,
    `delete table ip ${table}`,
    `add table ip ${table}`,
    ...named,
    `add map ip ${table} affinity { type ipv4_addr . ${addressPort} : mark; flags dynamic,timeout; timeout 3h; size ${affinitySize}; }`,
    ...[...Object.entries({ pod_ranges: settings.podRanges, service_ranges: settings.serviceRanges })].map(
      ([name, ranges]) =>
        `add set ip ${table} ${name} { type ipv4_addr; flags interval; auto-merge; elements = { ${ranges.join(', ')} }; }`,
    ),
    ...rulesIn(table, 'refuse', ['meta l4proto tcp reject with tcp reset', 'reject with icmp type port-unreachable']),
    ...rulesIn(table, 'masquerade_it', ['masquerade']),
    ...chains,
  ].join('; ');
}

/** Commands that add a chain for a number of endpoints. */
export const renderChain = (table: string, spread: Spread): string =>
  rulesIn(table, nameOfChain(spread), rulesOfChain(spread)).join('; ');

function rulesIn(table: string, chain: string, rules: readonly string[], hook?: string): string[] {
  const base = hook === undefined ? '' : ` { type ${hook}; policy accept; }`;
  return [`add chain ip ${table} ${chain}${base}`, ...rules.map((rule) => `add rule ip ${table} ${chain} ${rule}`)];
}

/**
 * Commands that put a filled table in force. Node ports also answer on 127.0.0.0/8: the links to the endpoints have
 * `route_localnet` for it, and the table drops what arrives from elsewhere for 127.0.0.0/8, which the kernel does no
 * more on such links. It comes after DNAT rules of others (priority -100), which it leaves what
 * they take; only the first packet of a connection passes the chains of type nat.
 */
export function renderEntry(table: string, { server, relayed }: TableSettings): string {
  const front = 'ip daddr . meta l4proto . th dport';
  const refuseUnknown = 'meta l4proto { tcp, udp } ip daddr @service_ranges fib daddr type != local goto refuse';
  const notForPorts = `${front} @held return`;
  const original = (of: string, set: string, then: string): string[] =>
    ['tcp', 'udp'].map((protocol) => `meta l4proto ${protocol} ${of}meta l4proto . ct original proto-dst ${set}${then}`);
  const own = 'ct original ip daddr . ';
  const clear = (rule: string): string => `ct state new ct status dnat ct mark != 0 ${rule}`;
  const clearing = [
    'ct original ip daddr @service_ranges ct mark set 0',
    ...original(own, '@external', ' ct mark set 0'),
    ...original('', '@external_ports', ' ct mark set 0'),
  ].map(clear);
  const barred = `${front} @guarded ${front} . ip saddr != @allowed drop`;
  const direct = server && isIPv4(server.host) ? [`ip daddr ${server.host} tcp dport ${server.port} return`] : [];
  const ofOthers = (range: string): string => `ip saddr @pod_ranges ip saddr != ${range} return`;
  const others = relayed?.addresses.map((address) => `ip daddr ${address} ${ofOthers(relayed.range)}`) ?? [];
  const guard = ['iif != "lo" ip daddr 127.0.0.0/8 drop'];
  return [
    ...rulesIn(table, 'from_outside', [notForPorts, 'meta l4proto . th dport vmap @outside_ports']),
    ...rulesIn(table, 'node_ports', [notForPorts, 'meta l4proto . th dport vmap @ports']),
    ...rulesIn(
      table,
      'prerouting',
      [
        ...direct,
        ...others,
        barred,
        `ip saddr != @pod_ranges ${front} vmap @outside`,
        `${front} vmap @services`,
        'fib daddr type local ip saddr != @pod_ranges jump from_outside',
        'fib daddr type local jump node_ports',
        refuseUnknown,
      ],
      'nat hook prerouting priority -99',
    ),
    ...rulesIn(
      table,
      'output',
      [...direct, barred, `${front} vmap @services`, 'fib daddr type local jump node_ports', refuseUnknown],
      'nat hook output priority -99',
    ),
    ...rulesIn(table, 'clear_arriving', clearing, 'filter hook prerouting priority -98'),
    ...rulesIn(table, 'clear_own', clearing, 'filter hook output priority -98'),
    ...rulesIn(
      table,
      'postrouting',
      [
        'ct status & dnat == 0 return',
        'ip saddr . ip daddr @hairpin masquerade',
        'ip saddr 127.0.0.0/8 masquerade',
        'ct original ip daddr @service_ranges ip saddr != @pod_ranges fib saddr type != local masquerade',
        'ct original ip daddr @service_ranges return',
        ...original(own, 'vmap @sources', ''),
        ...original('', '@masqueraded_ports', ' masquerade'),
      ],
      'nat hook postrouting priority 99',
    ),
    ...rulesIn(table, 'guard', guard, 'filter hook prerouting priority -300'),
    `add chain ip ${table} in_force`,
  ].join('; ');
}
