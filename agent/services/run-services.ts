import type { EndpointSlice, NodeNetwork, Pod, Service } from '../../api/generated/types.ts';
import type { MetricsRegistry } from '../../api/metrics/index.ts';
import type { Client } from '../../client/client.ts';
import { type Clock, pause } from '../../client/clock.ts';
import { createInformer, type Informer } from '../../client/informer/informer.ts';
import type { Logger } from '../../client/logger.ts';
import { namesAddressOf } from '../pod-network/gateway-link.ts';
import type { ServicesGround } from '../pod-network/node-pod-network.ts';
import { createServiceTable, type ServiceTable } from '../service-table/service-table.ts';
import { Draining, nodeAddressIndex } from './draining.ts';
import { KeptServices, readKeptServices } from './kept-services.ts';
import { NamesKeeper } from './names-keeper.ts';
import { namespaceIndex, ServiceFeed, sliceIndex } from './service-feed.ts';
import type { ServiceLinks } from './service-links.ts';
import { slimService, slimSlice } from './slim-objects.ts';
import { otherResolvers } from './views.ts';

export interface ServicesOptions {
  readonly client: Pick<Client, 'services' | 'endpointSlices'>;
  readonly nodeName: string;
  readonly nodeDir: string;
  /** Tells installations on one machine apart. */
  readonly tag: string;
  readonly networks: Informer<NodeNetwork>;
  /** This node's. */
  readonly pods: Informer<Pod>;
  readonly ground: ServicesGround;
  readonly metrics: MetricsRegistry;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called before anything else. */
  readonly onDraining: (draining: Draining) => void;
  /** Called before the table is built. */
  readonly onTable: (table: Pick<ServiceTable, 'status'>) => void;
  /** Told when Services are known. */
  readonly links: Pick<ServiceLinks, 'known'>;
}

/** So long a server that does not answer is waited for before what an agent before knew is used. */
const keptAfterMs = 5_000;
/** No Service has such a name. */
const resolversKey = 'names of other nodes';

/**
 * Carries Services on this node and answers names, until aborted. What is in the kernel stays. Begins when the server
 * has told all Services, or with what was kept of them.
 */
export async function runServices(options: ServicesOptions, signal: AbortSignal): Promise<void> {
  const { client, nodeName, nodeDir, tag, networks, pods, ground, metrics, clock, logger } = options;
  const base = { clock, logger };
  const services = createInformer<Service>({
    ...{ ...base, client: client.services, name: 'services', transform: slimService, indexers: namespaceIndex },
  });
  const indexers = { ...sliceIndex, ...nodeAddressIndex(nodeName) };
  const slices = createInformer<EndpointSlice>({
    ...{ ...base, client: client.endpointSlices, name: 'endpointslices', transform: slimSlice, indexers },
  });
  options.onDraining(new Draining({ slices, clock }));
  const table = createServiceTable({
    ...{ cluster: tag, node: nodeName, podRanges: ground.pods, serviceRanges: ground.services, loopback: false, logger },
  });
  options.onTable(table);
  const names = new NamesKeeper({
    ...{ ...base, metrics, address: ground.gateway, clusterDomain: ground.domain },
    clusterCidrs: [...ground.pods, ...ground.services],
    snapshot: () => feed.snapshot(),
  });
  const kept = new KeptServices({ ...base, nodeDir, known: () => feed.known() });
  const feed: ServiceFeed = new ServiceFeed({
    ...{ services, slices, pods },
    setTable: (key, service) => table.set(key, service),
    applyNames: (changes) => names.apply(changes),
    changed: () => kept.changed(),
  });
  const leave = [feed.follow(), followResolvers(networks, table, nodeName, ground)];
  const synced = Promise.all([services.waitForSync(signal), slices.waitForSync(signal)]);
  const begin = async (): Promise<void> => {
    await Promise.race([synced, pause(keptAfterMs, signal, clock)]);
    if (!services.hasSynced() || !slices.hasSynced()) {
      const before = await readKeptServices(nodeDir);
      if (before) feed.useKept(before);
      else await synced;
    }
    if (signal.aborted) return;
    options.links.known((namespace) => feed.servicesIn(namespace));
    // It also ends with the signal: then nothing is known to be gone.
    void synced.then(() => signal.aborted || feed.synced());
    await Promise.all([table.run(signal), names.run(signal), kept.run(signal)]);
  };
  try {
    await Promise.all([services.run(signal), slices.run(signal), begin()]);
  } finally {
    for (const each of leave) each();
  }
}

/** The second name server of this node's pods follows the nodes. */
function followResolvers(networks: Informer<NodeNetwork>, table: ServiceTable, nodeName: string, ground: ServicesGround) {
  const [range = ''] = ground.services;
  const address = namesAddressOf(range);
  const set = () => table.set(resolversKey, otherResolvers(networks.lister.list(), nodeName, address));
  set();
  return networks.addHandler({ name: 'resolvers', onAdd: set, onUpdate: set, onDelete: set });
}
