import type { NodeNetwork, Pod } from '../api/generated/types.ts';
import type { MetricsRegistry } from '../api/metrics/index.ts';
import { systemClock } from '../client/clock.ts';
import { createInformer, type Informer } from '../client/informer/informer.ts';
import { removeAnnounced } from './announcer/link-addresses.ts';
import type { MachineInventory } from './machine/inventory.ts';
import { PolicyGate } from './network-policy/policy-gate.ts';
import { removePolicyTable } from './network-policy/policy-table.ts';
import { runPolicies } from './network-policy/run-policies.ts';
import { NftProcess } from './nft/nft-process.ts';
import type { AgentOptions } from './options.ts';
import type { ServiceLinkSource } from './pod/start-container.ts';
import type { Drained } from './pod/stop-containers.ts';
import { namesAddressOf } from './pod-network/gateway-link.ts';
import { hasPodNetwork, removePodNetwork } from './pod-network/kept-network.ts';
import { tagOf } from './pod-network/link-commands.ts';
import { NodePodNetwork } from './pod-network/node-pod-network.ts';
import { createShell } from './pod-network/shell.ts';
import { removeServiceTable, type ServiceTable } from './service-table/service-table.ts';
import type { Draining } from './services/draining.ts';
import { runServices } from './services/run-services.ts';
import { ServiceLinks } from './services/service-links.ts';

/** The node's own network of pods, and what keeps it. */
export interface OpenedPodNetwork {
  readonly network: NodePodNetwork;
  /** Holds back the end of pods that Services lead to. */
  readonly drained: Drained;
  /** What carries Services; undefined: nothing, or not yet. */
  serviceTable(): Pick<ServiceTable, 'status'> | undefined;
  /** The variables of Services. */
  readonly serviceLinks: ServiceLinkSource;
  run(machine: NetworkMachine, signal: AbortSignal): Promise<unknown>;
}

/** What the network needs to know of the rest of the agent. */
export interface NetworkMachine {
  readonly inventory: Pick<MachineInventory, 'addresses'>;
  /** The node's. */
  readonly pods: Informer<Pod>;
  readonly metrics: MetricsRegistry;
  /** Asks the engine which sandboxes there are, and so tells the network which addresses are in use. */
  readonly look: () => Promise<unknown>;
}

/**
 * Undefined where pods are in the engine's network, and were with every agent before. An agent that is told to go back
 * to the engine's network keeps the other for the pods that are in it.
 */
export function openPodNetwork(options: AgentOptions & { readonly nodeDir: string }): OpenedPodNetwork | undefined {
  const { client, server, nodeName, dataDir, nodeDir, podNetwork, podRoutes: choice, logger, clock = systemClock } = options;
  const isWanted = podNetwork === 'routed';
  if (!isWanted && !hasPodNetwork(nodeDir)) return undefined;
  const networks = createInformer<NodeNetwork>({ client: client.nodeNetworks, name: 'nodenetworks', clock, logger });
  const gate = new PolicyGate(clock);
  const nft = new NftProcess();
  const network = new NodePodNetwork({
    ...{ nodeName, dataDir, nodeDir, isWanted, networks, clock, logger, gate, nft },
    ...(choice && { choice }),
  });
  const links = new ServiceLinks(clock);
  let draining: Draining | undefined;
  let table: Pick<ServiceTable, 'status'> | undefined;
  const carry = async (address: string, { pods, metrics, look }: NetworkMachine, signal: AbortSignal): Promise<void> => {
    const ground = await network.groundOr(signal);
    if (ground === undefined) return;
    links.carriedFor(ground.pods);
    const tag = tagOf({ dataDir, nodeName });
    const base = { client, nodeName, nodeDir, tag, address, pods, metrics, nft, clock, logger };
    const onDraining = (made: Draining) => {
      draining = made;
    };
    const onLost = () => network.look();
    const onTable = (made: Pick<ServiceTable, 'status'>) => {
      table = made;
    };
    const [services = ''] = ground.services;
    await Promise.all([
      runServices({ ...base, server, networks, ground, hostPorts: network.ports, onDraining, onTable, onLost, links }, signal),
      runPolicies({ ...base, gate, look, gateway: ground.gateway, names: namesAddressOf(services) }, signal),
    ]);
  };
  return {
    network,
    drained: (pod, gracePeriodSeconds, signal) => draining?.until(pod, gracePeriodSeconds, signal),
    serviceTable: () => table,
    serviceLinks: (pod, address) => links.of(pod, address),
    run(machine, signal) {
      const address = machine.inventory.addresses.find(({ type }) => type === 'InternalIP')?.address ?? '';
      const parts = [networks.run(signal), network.run(address, signal), carry(address, machine, signal), links.run(signal)];
      return Promise.all(parts).finally(() => nft.close());
    },
  };
}

/** Removes all that agents of this node made of a network, when its containers are gone. False: there was none. */
export async function removeNetwork(dataDir: string, nodeName: string, nodeDir: string): Promise<boolean> {
  await removeAnnounced(nodeDir, createShell());
  if (!hasPodNetwork(nodeDir)) return false;
  const owner = { cluster: tagOf({ dataDir, nodeName }), node: nodeName };
  await removeServiceTable(owner);
  await removePolicyTable(owner);
  // Last: it forgets that there was a network, and what fails before can be tried again.
  return removePodNetwork(dataDir, nodeName, nodeDir);
}
