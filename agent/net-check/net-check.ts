import type { NetCheck, Pod } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { addressNumber, isInRange, parseAddressRange } from '../../api/meta/address-range.ts';
import { objectKey } from '../../api/meta/key.ts';
import { type Clock, pause } from '../../client/clock.ts';
import { portMappings } from '../config/container-config.ts';
import { canPublish } from '../host-ports/table-service.ts';
import { createLimit } from '../limit.ts';
import { gatewayAddressOf } from '../pod-network/gateway-link.ts';
import type { NetworkState, NodePodNetwork } from '../pod-network/node-pod-network.ts';
import type { Neighbour, RoutedNeighbour } from '../pod-network/node-routes.ts';
import type { NetworkPlan } from '../pod-network/pod-network.ts';
import { createShell, type Shell } from '../pod-network/shell.ts';
import { forgetLearned } from '../pod-network/way-measurer.ts';
import type { ServiceTable } from '../service-table/service-table.ts';
import { wordsOf } from '../words-of.ts';
import { computeNetCheck, type EnginePod, measuredOtherwise, type NetFacts, type PeerFacts } from './compute-net-check.ts';
import { type Probe, type ProbeResult, probeResolver } from './dns-probe.ts';
import { type MachineFacts, readMachine } from './machine-facts.ts';

/** Looks at the node's network. Takes some seconds where other nodes do not answer. Never throws. */
export type NetCheckSource = (signal: AbortSignal) => Promise<NetCheck>;

export interface NetCheckOptions {
  readonly nodeName: string;
  /** The node's. */
  readonly pods: { list(): readonly Pod[] };
  /** Undefined: all pods are in the engine's network. */
  readonly network: Pick<NodePodNetwork, 'isWanted' | 'state' | 'measureAgain'> | undefined;
  /** What carries Services; undefined: nothing, or not yet. */
  readonly serviceTable: () => Pick<ServiceTable, 'status'> | undefined;
  readonly clock: Clock;
  readonly shell?: Shell;
  readonly probe?: (probe: Probe, signal: AbortSignal) => Promise<ProbeResult>;
}

/** Of more nodes the others are not asked: a check has to end, and its answer to fit in a message. */
const mostPeers = 1_000;
const probesAtOnce = 100;
/** Where the domain is not known, any name will do. */
const anyName = 'cluster.local';
/** So long after its start an agent may still be making the network: until then it looks again at what is missing. */
const startMs = 10_000;
const againMs = 500;

/** Made when the agent starts. */
export function createNetCheck(options: NetCheckOptions): NetCheckSource {
  const { nodeName, pods, network, serviceTable, clock, shell = createShell() } = options;
  const startedAt = clock.now();
  const lookOnce = async (network: Pick<NodePodNetwork, 'state' | 'measureAgain'>, signal: AbortSignal): Promise<NetCheck> => {
    const state = network.state();
    const found = await look(options, shell, state, signal);
    const enginePods = enginePodsOf(pods.list(), state.plan?.range);
    const facts: NetFacts = { nodeName, state, ...found, table: serviceTable()?.status(), enginePods };
    const changed = measuredOtherwise(facts);
    if (changed.length > 0) network.measureAgain(changed);
    return computeNetCheck(facts);
  };
  return async (signal) => {
    if (network === undefined || !network.isWanted) {
      const enginePods = enginePodsOf(pods.list(), network?.state().plan?.range).length;
      return { nodeName, podNetwork: 'engine', enginePods };
    }
    for (;;) {
      const check = await lookOnce(network, signal);
      if (isWhole(check) || signal.aborted || Math.abs(clock.now() - startedAt) >= startMs) return check;
      await pause(againMs, signal, clock);
    }
  };
}

const isWhole = ({ items = [] }: NetCheck): boolean => items.every(({ ok }) => ok);

async function look({ probe = probeResolver }: NetCheckOptions, shell: Shell, state: NetworkState, signal: AbortSignal) {
  const { plan, domain } = state;
  if (plan === undefined) return { machine: '', own: { result: 'silent' } as const, peers: [] };
  const name = domain || anyName;
  const neighbours = plan.neighbours.toSorted((a, b) => (a.name < b.name ? -1 : 1)).slice(0, mostPeers);
  const limit = createLimit(probesAtOnce);
  const ask = (address: string, packetSize?: number) =>
    limit(() => probe({ address, name, ...(packetSize !== undefined && { packetSize }) }, signal));
  // Else the kernel would go on with what a router said that is not there any more.
  if (plan.small.size > 0) await shell.run(forgetLearned).catch(() => {});
  const [own, peers] = await Promise.all([ask(plan.gateway), Promise.all(neighbours.map((each) => peerOf(each, ask)))]);
  // Afterwards: it has what routers said to the large packets.
  return { machine: await machineOf(shell, plan, neighbours), own, peers };
}

async function machineOf(shell: Shell, plan: NetworkPlan, neighbours: readonly Neighbour[]): Promise<MachineFacts | string> {
  try {
    return await readMachine(
      shell,
      plan,
      neighbours.map(({ range }) => gatewayAddressOf(range)),
    );
  } catch (error) {
    return wordsOf(error);
  }
}

async function peerOf(
  neighbour: RoutedNeighbour,
  ask: (address: string, packetSize?: number) => Promise<ProbeResult>,
): Promise<PeerFacts> {
  const gateway = gatewayAddressOf(neighbour.range);
  const small = await ask(gateway);
  return { ...neighbour, gateway, small, ...(small.result === 'answered' && { large: await ask(gateway, neighbour.room) }) };
}

/** Pods with an address that is not of the node's range. */
function enginePodsOf(pods: readonly Pod[], range: string | undefined): EnginePod[] {
  const own = range === undefined ? undefined : parseAddressRange(range);
  return pods.flatMap((pod) => {
    const address = addressNumber(pod.status?.podIP ?? '');
    if (address === undefined || pod.spec?.hostNetwork === true || isFinished(pod)) return [];
    if (own && isInRange(own, address)) return [];
    return [{ key: objectKey(pod), staysThere: !portMappings(pod).every(canPublish) }];
  });
}
