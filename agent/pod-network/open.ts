import type { NodeNetwork } from '../../api/generated/types.ts';
import { systemClock } from '../../client/clock.ts';
import { createInformer } from '../../client/informer/informer.ts';
import type { MachineInventory } from '../machine/inventory.ts';
import type { AgentOptions } from '../options.ts';
import { hasPodNetwork, NodePodNetwork } from './node-pod-network.ts';

/** The node's own network of pods, and what keeps it. */
export interface OpenedPodNetwork {
  readonly network: NodePodNetwork;
  run(inventory: Pick<MachineInventory, 'addresses'>, signal: AbortSignal): Promise<unknown>;
}

/**
 * Undefined where pods are in the engine's network, and were with every agent before. An agent that is told to go back
 * to the engine's network keeps the other for the pods that are in it.
 */
export function openPodNetwork(options: AgentOptions & { readonly nodeDir: string }): OpenedPodNetwork | undefined {
  const { client, nodeName, dataDir, nodeDir, podNetwork, logger, clock = systemClock } = options;
  const isWanted = podNetwork === 'routed';
  if (!isWanted && !hasPodNetwork(nodeDir)) return undefined;
  const networks = createInformer<NodeNetwork>({ client: client.nodeNetworks, name: 'nodenetworks', clock, logger });
  const network = new NodePodNetwork({ nodeName, dataDir, nodeDir, isWanted, networks, clock, logger });
  return {
    network,
    run({ addresses }, signal) {
      const address = addresses.find(({ type }) => type === 'InternalIP')?.address ?? '';
      return Promise.all([networks.run(signal), network.run(address, signal)]);
    },
  };
}
