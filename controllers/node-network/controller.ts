import { isAlreadyExists, isConflict, isNotFound } from '../../api/errors/index.ts';
import type { Node, NodeNetwork, Service, ServiceCIDR } from '../../api/generated/types.ts';
import { ownServiceCidr } from '../../api/kinds/service-cidr/fields.ts';
import { parseAddressRange } from '../../api/meta/address-range.ts';
import { defaultNetwork } from '../../api/meta/cluster-ranges.ts';
import { equalValues } from '../../api/meta/equal.ts';
import type { Client, Informer, Logger } from '../../client/index.ts';
import { type Controller, changesOf } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import { rule } from '../rules.ts';
import { decideNodeNetwork, type NodeNetworkSettings } from './decide.ts';
import { parsed, podRanges, rangesOutside } from './pod-ranges.ts';
import { addressesOutside, serviceRanges } from './service-ranges.ts';

export interface NodeNetworksOptions {
  readonly client: { readonly nodeNetworks: Pick<Client['nodeNetworks'], 'create' | 'update' | 'delete'> };
  readonly nodes: Informer<Node>;
  readonly networks: Informer<NodeNetwork>;
  /** Only the server's own is read: the range that Services get addresses of. */
  readonly serviceCidrs: Informer<ServiceCIDR>;
  readonly services: Informer<Service>;
  readonly settings: NodeNetworkSettings;
  readonly logger: Pick<Logger, 'warn'>;
}

/**
 * Keeps a NodeNetwork for each node with a range of pods' addresses: what agents read of nodes other than their own.
 * Services have the range that the server gives addresses of, whatever these controllers were told: with another one
 * agents would neither route to Services nor serve them.
 */
export function createNodeNetworks({ client, nodes, networks, services, ...rest }: NodeNetworksOptions): Controller {
  const { serviceCidrs, settings, logger } = rest;
  const { clusterCidr = defaultNetwork.clusterCidr } = settings;
  let { serviceCidr = defaultNetwork.serviceCidr } = settings;
  const cluster = parseAddressRange(clusterCidr);
  /** Where pods may have addresses; undefined when nodes outside of the cluster's range came or went. */
  let ranges: readonly string[] | undefined;
  /** Where Services have addresses; undefined when one outside of the server's range came or went, or that changed. */
  let ofServices: readonly string[] | undefined;

  async function reconcile(name: string, signal: AbortSignal): Promise<void> {
    const stored = networks.lister.get(name);
    ranges ??= podRanges(clusterCidr, nodes.lister.list(), networks.lister.list());
    learnServiceRange();
    ofServices ??= serviceRanges(serviceCidr, services.lister.list(), networks.lister.list());
    const step = decideNodeNetwork(nodes.lister.get(name), stored, settings, { pods: ranges, services: ofServices });
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

  /** The server replaces the ServiceCIDR when it starts with another range; while there is none, the last one holds. */
  function learnServiceRange(): void {
    const [range] = serviceCidrs.lister.get(ownServiceCidr)?.spec?.cidrs ?? [];
    if (range === undefined || range === serviceCidr || parsed(range).length === 0) return;
    const told = settings.serviceCidr ?? defaultNetwork.serviceCidr;
    const message = 'controllers and server have other --service-cidr: nodes are told that of the server';
    if (range !== told) logger.warn({ controllers: told, server: range }, message);
    serviceCidr = range;
    ofServices = undefined;
  }

  const names = ({ metadata }: Node | NodeNetwork): string[] => [metadata?.name ?? ''];
  const allNodes = (): string[] => nodes.lister.list().flatMap((each) => names(each));
  // A range outside of the cluster's is told to all nodes.
  const all = (node: Node): string[] => {
    if (rangesOutside(cluster, node).length === 0) return [];
    ranges = undefined;
    return allNodes();
  };
  const hasOtherRanges = (next: Node, old: Node) => !equalValues(rangesOutside(cluster, next), rangesOutside(cluster, old));
  const ofRange = ({ metadata }: ServiceCIDR): string[] => (metadata?.name === ownServiceCidr ? allNodes() : []);
  const ofService = (service: Service): string[] => {
    learnServiceRange();
    if (addressesOutside(parseAddressRange(serviceCidr), service).length === 0) return [];
    ofServices = undefined;
    return allNodes();
  };
  const movesService = (next: Service, old: Service) => !equalValues(next.spec?.clusterIPs, old.spec?.clusterIPs);
  return {
    name: 'node-network',
    sources: [
      changesOf(nodes, names, {}),
      changesOf(nodes, all, { matters: hasOtherRanges }),
      changesOf(networks, names, {}),
      changesOf(serviceCidrs, ofRange, {}),
      changesOf(services, ofService, { matters: movesService }),
    ],
    reconcile,
  };
}

export const nodeNetworks: ControllerDefinition = {
  name: 'node-network',
  rules: [rule(['create', 'update'], 'networking.berth.io', 'nodenetworks')],
  watches: { Node: { whole: true }, NodeNetwork: { whole: true }, ServiceCIDR: { whole: true }, Service: { whole: true } },
  create: ({ client, informer, settings, logger }) =>
    createNodeNetworks({
      ...{ client, settings, logger },
      ...{ nodes: informer('Node'), networks: informer('NodeNetwork') },
      ...{ services: informer('Service'), serviceCidrs: informer('ServiceCIDR') },
    }),
};
