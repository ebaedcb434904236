import { isAlreadyExists, isConflict, isNotFound } from '../../api/errors/index.ts';
import type { Node, NodeNetwork } from '../../api/generated/types.ts';
import type { Client, Informer } from '../../client/index.ts';
import { type Controller, changesOf } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import { rule } from '../rules.ts';
import { decideNodeNetwork, type NodeNetworkSettings } from './decide.ts';

export interface NodeNetworksOptions {
  readonly client: { readonly nodeNetworks: Pick<Client['nodeNetworks'], 'create' | 'update' | 'delete'> };
  readonly nodes: Informer<Node>;
  readonly networks: Informer<NodeNetwork>;
  readonly settings: NodeNetworkSettings;
}

/**
 * Keeps a NodeNetwork for each node with a range of pods' addresses: what agents read of nodes other than their own.
 */
export function createNodeNetworks({ client, nodes, networks, settings }: NodeNetworksOptions): Controller {
  async function reconcile(name: string, signal: AbortSignal): Promise<void> {
    const stored = networks.lister.get(name);
    const step = decideNodeNetwork(nodes.lister.get(name), stored, settings);
    if (step.do === 'nothing') return;
    const { uid, resourceVersion } = stored?.metadata ?? {};
    try {
      if (step.do === 'create') await client.nodeNetworks.create(step.object, {}, { signal });
      else if (step.do === 'update') await client.nodeNetworks.update(step.object, {}, { signal });
      else await client.nodeNetworks.delete({ name }, { preconditions: { uid, resourceVersion } }, { signal });
    } catch (error) {
      // The informer is about to show another version, and wakes the controller.
      if (!isAlreadyExists(error) && !isConflict(error) && !isNotFound(error)) throw error;
    }
  }

  const names = ({ metadata }: Node | NodeNetwork): string[] => [metadata?.name ?? ''];
  return {
    name: 'node-network',
    sources: [changesOf(nodes, names, {}), changesOf(networks, names, {})],
    reconcile,
  };
}

export const nodeNetworks: ControllerDefinition = {
  name: 'node-network',
  rules: [rule(['create', 'update'], 'networking.berth.io', 'nodenetworks')],
  watches: { Node: { whole: true }, NodeNetwork: { whole: true } },
  create: ({ client, informer, settings }) =>
    createNodeNetworks({ client, nodes: informer('Node'), networks: informer('NodeNetwork'), settings }),
};
