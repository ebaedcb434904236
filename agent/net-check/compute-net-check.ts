import type { NetCheck, NetCheckItem, NetCheckPeer } from '../../api/generated/types.ts';
import type { NetworkState } from '../pod-network/node-pod-network.ts';
import { describeMove } from '../pod-network/node-range.ts';
import { type RoutedNeighbour, tunnelOverhead, tunnelPort } from '../pod-network/node-routes.ts';
import type { NetworkPlan } from '../pod-network/pod-network.ts';
import { offloading } from '../pod-network/way-measurer.ts';
import type { ServiceTableStatus } from '../service-table/service-table.ts';
import { isReached, type ProbeResult } from './dns-probe.ts';
import type { MachineFacts } from './machine-facts.ts';

/** Another node with what came back from its gateway. */
export interface PeerFacts extends RoutedNeighbour {
  readonly gateway: string;
  readonly small: ProbeResult;
  /** With a packet as large as pods send; only where the small one was answered. */
  readonly large?: ProbeResult;
}

/** A pod of this node that is in the engine's network. */
export interface EnginePod {
  /** "namespace/name". */
  readonly key: string;
  /** It publishes a port of the machine that only the engine's network can: one made anew would be there as well. */
  readonly staysThere: boolean;
}

export interface NetFacts {
  readonly nodeName: string;
  readonly state: NetworkState;
  /** A text: why the machine could not be read. */
  readonly machine: MachineFacts | string;
  readonly own: ProbeResult;
  readonly peers: readonly PeerFacts[];
  /** Undefined: nothing carries Services. */
  readonly table: ServiceTableStatus | undefined;
  readonly enginePods: readonly EnginePod[];
}

/** What is wrong, and what to do about it. */
interface Problem {
  readonly problem: string;
  readonly remedy: string;
}

/** So many pods are named. */
const mostNamed = 5;
const restored =
  "the agent restores it within 2 s; where it stays away another program removes it again (a firewall, a network manager): the agent's log says when";

/** What a node whose pods are in the routed network has, and what it lacks. Pure. */
export function computeNetCheck({ nodeName, state, machine, ...facts }: NetFacts): NetCheck {
  const { plan } = state;
  const base = { nodeName, podNetwork: 'routed', enginePods: facts.enginePods.length };
  if (plan === undefined) {
    const remedy = `see its events ("berth describe node ${nodeName}") and the agent's log`;
    return { ...base, items: itemsOf('network', [{ problem: state.why, remedy }]) };
  }
  if (typeof machine === 'string') {
    const problem = `routes and rules of the machine cannot be read: ${machine}`;
    const remedy = 'the agent has to run as root, with iproute2, nftables and iptables installed';
    return { ...base, podCIDR: plan.range, mtu: plan.mtu, items: itemsOf('network', [{ problem, remedy }]) };
  }
  return {
    ...base,
    ...{ podCIDR: plan.range, mtu: plan.mtu },
    peers: facts.peers.map((peer) => peerOf(peer, plan, machine)),
    items: [
      ...itemsOf('network', movedProblems(plan, state)),
      ...itemsOf('routes', routeProblems(plan, machine, facts.peers)),
      ...itemsOf('firewall', firewallProblems(plan, machine)),
      ...itemsOf('services', serviceProblems(facts.table, machine, state)),
      ...itemsOf('names', nameProblems(plan, facts.own)),
      ...itemsOf('mtu', mtuProblems(plan, machine, facts.peers)),
      ...itemsOf('nodes', nodeProblems(plan, machine, facts.peers, state)),
      ...itemsOf('pods', podProblems(facts.enginePods)),
    ],
  };
}

const itemsOf = (check: string, problems: readonly Problem[]): NetCheckItem[] =>
  problems.length === 0 ? [{ check, ok: true }] : problems.map((each) => ({ check, ok: false, ...each }));

function wayTo({ address, gateway }: PeerFacts, { tunnel }: NetworkPlan, { ways }: MachineFacts): 'direct' | 'tunnel' | '' {
  const way = ways.get(gateway);
  if (way?.dev === tunnel) return 'tunnel';
  return way?.gateway === address ? 'direct' : '';
}

/**
 * What a way has room for where it is less than the machine's own interface says; undefined: as much, or not known.
 * Packets beyond what a router has said are sent in fragments, so that they may be answered as well.
 */
function lessOf({ name, gateway, large, room }: PeerFacts, { small }: NetworkPlan, { ways }: MachineFacts): number | undefined {
  if (large === undefined) return undefined;
  const told = ways.get(gateway)?.mtu ?? room;
  if (told < room) return told;
  return isReached(large) ? undefined : small.get(name);
}

/** The nodes to which the way seems to have changed since it was measured. Pure. */
export function measuredOtherwise({ state: { plan }, machine, peers }: NetFacts): string[] {
  if (plan === undefined || typeof machine === 'string') return [];
  const changed = peers.filter((peer) => {
    if (peer.large === undefined) return false;
    const isLess = lessOf(peer, plan, machine) !== undefined || !isReached(peer.large);
    return isLess !== plan.small.has(peer.name);
  });
  return changed.map(({ name }) => name);
}

const peerOf = (peer: PeerFacts, plan: NetworkPlan, machine: MachineFacts): NetCheckPeer => ({
  ...{ nodeName: peer.name, gateway: peer.gateway, way: wayTo(peer, plan, machine), reached: isReached(peer.small) },
  ...(isReached(peer.small) && { mtu: lessOf(peer, plan, machine) ?? peer.room }),
});

function movedProblems({ range }: NetworkPlan, { movedTo }: NetworkState): Problem[] {
  if (movedTo === undefined) return [];
  const remedy = '"berth down", then what started it: its pods get new sandboxes, with addresses of the new range';
  return [{ problem: describeMove(movedTo, range), remedy }];
}

function routeProblems(plan: NetworkPlan, machine: MachineFacts, peers: readonly PeerFacts[]): Problem[] {
  const { routes, hasGateway } = machine;
  const lost = [plan.range, ...plan.services].filter((range) => !routes.has(range));
  const astray = peers.filter((peer) => !routes.has(peer.range.text) || wayTo(peer, plan, machine) === '');
  return [
    ...lost.map((range) => ({ problem: `the route for ${range} is missing`, remedy: restored })),
    ...(hasGateway ? [] : [{ problem: `the address ${plan.gateway} is missing (link ${plan.gatewayLink})`, remedy: restored }]),
    ...astray.map(({ name, range, gateway }) => {
      const way = machine.ways.get(gateway);
      const where = way ? `it goes through ${[way.dev, way.gateway].filter(Boolean).join(' to ')}` : 'there is none';
      return {
        problem: `the route to the pods of node ${name} (${range.text}) is not the cluster's: ${where}`,
        remedy: restored,
      };
    }),
  ];
}

function firewallProblems({ table }: NetworkPlan, { forwards, accepts, tables }: MachineFacts): Problem[] {
  const problems: Problem[] = [];
  if (!forwards) {
    const remedy = 'sysctl -w net.ipv4.ip_forward=1, and look for the file in /etc/sysctl.d that sets it to 0';
    problems.push({ problem: 'the machine forwards no packets (net.ipv4.ip_forward is 0)', remedy });
  }
  if (!accepts)
    problems.push({ problem: "the rules that accept the pods' packets (chain FORWARD) are missing", remedy: restored });
  if (!tables.has(table)) problems.push({ problem: `the nftables table ${table} is missing`, remedy: restored });
  return problems;
}

function serviceProblems(
  status: ServiceTableStatus | undefined,
  { tables }: MachineFacts,
  { isOutdated = false }: NetworkState,
): Problem[] {
  if (status === undefined) {
    const remedy =
      'the agent\'s log says why ("Services cannot be carried"); a server of an earlier version does not know Services';
    return [{ problem: 'Services are not carried', remedy }];
  }
  const { table, waiting } = status;
  if (table === undefined || !tables.has(table))
    return [{ problem: 'the nftables table of Services is not there', remedy: `it is built again at once; ${restored}` }];
  if (isOutdated) {
    const problem = "the cluster's ranges of addresses, or its domain, are others than when the agent started";
    const remedy = 'restart the agent ("berth down", then what started it; containers go on running meanwhile)';
    return [{ problem, remedy }];
  }
  if (waiting === 0) return [];
  const remedy = "they are on their way; where the number does not fall, the agent's log says why";
  return [{ problem: `${waiting} changes of Services are not in force yet`, remedy }];
}

function nameProblems({ gateway }: NetworkPlan, own: ProbeResult): Problem[] {
  if (own.result === 'answered') return [];
  const remedy = `see the agent's log; another program must not listen on UDP port 53 of ${gateway} ("ss -lunp"), and a firewall must let it in`;
  return [{ problem: `the resolver at ${gateway} ${describe(own)}`, remedy }];
}

function describe(probe: ProbeResult): string {
  switch (probe.result) {
    case 'answered':
      return 'answers';
    case 'refused':
      return 'does not run';
    case 'silent':
      return 'does not answer';
    case 'failed':
      return `cannot be asked: ${probe.why}`;
  }
}

function mtuProblems(plan: NetworkPlan, machine: MachineFacts, peers: readonly PeerFacts[]): Problem[] {
  return peers.flatMap((peer) => {
    const { name, address, large, room } = peer;
    const less = lessOf(peer, plan, machine);
    const link = `this machine's interface towards ${address}`;
    if (less !== undefined) {
      const between = wayTo(peer, plan, machine) === 'tunnel' ? less + tunnelOverhead : less;
      return {
        problem: `the network between this node and node ${name} has an MTU of ${between}: pods' packets may have ${less} bytes, not ${room}`,
        remedy: `pods are held to ${less} bytes towards it; raise the MTU of the network between, or set that of ${link} to ${between} and restart the agent`,
      };
    }
    if (large === undefined || isReached(large)) return [];
    return {
      problem: `packets of ${room} bytes, which pods send, do not get through to node ${name}, while small ones do`,
      remedy: `the agent measures what does, within a minute; set the MTU of ${link} to what the network between both carries, and restart the agent`,
    };
  });
}

function nodeProblems(
  plan: NetworkPlan,
  machine: MachineFacts,
  peers: readonly PeerFacts[],
  { refused, damaged }: NetworkState,
): Problem[] {
  const lost = peers.filter(({ small, name }) => !isReached(small) && !damaged.has(name));
  return [
    ...peers.filter(({ name }) => damaged.has(name)).map(({ name }) => damagedWay(name, plan)),
    ...lost.map((peer) => lostNode(peer, wayTo(peer, plan, machine))),
    ...refused.map((problem) => ({ problem, remedy: 'delete the Node that is not to have the range; it gets another one' })),
  ];
}

function damagedWay(name: string, { tunnel }: NetworkPlan): Problem {
  return {
    problem: `packets through the tunnel reach node ${name} with wrong checksums, and are dropped there: this machine's network card does not finish them`,
    remedy: `install the package ethtool: within a minute the agent lets the kernel compute them ("ethtool -K ${tunnel} ${offloading} off"); where it is there already, that did not help, as the agent's log says`,
  };
}

function lostNode({ name, address, gateway, range, small }: PeerFacts, way: string): Problem {
  const how = way === '' ? '' : way === 'direct' ? `, directly to ${address}` : `, through the tunnel to ${address}`;
  const passes =
    way === 'tunnel'
      ? `UDP port ${tunnelPort} between both nodes has to be open`
      : `what is between both nodes has to let packets of ${range.text} pass`;
  const runs = `look whether node ${name} runs and its cable is plugged in ("ping ${address}")`;
  return {
    problem: `node ${name} is not reached: its gateway ${gateway}${how}, ${describe(small)}`,
    remedy: `${runs}; where it does, ${passes}, and its firewall has to let in UDP port 53 of ${gateway}`,
  };
}

function podProblems(pods: readonly EnginePod[]): Problem[] {
  const left = pods.filter(({ staysThere }) => !staysThere).map(({ key }) => key);
  if (left.length === 0) return [];
  const more = left.length > mostNamed ? ` and ${left.length - mostNamed} more` : '';
  return [
    {
      problem: `pods are still in the engine's network, where other nodes do not reach them: ${left.slice(0, mostNamed).join(', ')}${more}`,
      remedy: 'replace them ("berth rollout restart", or delete them where a controller makes new ones)',
    },
  ];
}
