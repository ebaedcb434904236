import type { EndpointSlice, NodeNetwork, Pod, Service } from '../../api/generated/types.ts';
import type { MetricsRegistry } from '../../api/metrics/index.ts';
import type { Client } from '../../client/client.ts';
import { type Clock, pause } from '../../client/clock.ts';
import { createEventRecorder } from '../../client/events/events.ts';
import { referenceTo } from '../../client/events/reference.ts';
import { createInformer, type Informer } from '../../client/informer/informer.ts';
import type { Logger } from '../../client/logger.ts';
import { openAnnouncer } from '../announcer/open-announcer.ts';
import { openRelay, relayedAddresses } from '../api-relay/open-relay.ts';
import { parseServer } from '../api-relay/relay-keeper.ts';
import { HealthPorts } from '../health-ports/health-ports.ts';
import type { HostPorts } from '../host-ports/host-ports.ts';
import type { NftProcess } from '../nft/nft-process.ts';
import { namesAddressOf } from '../pod-network/gateway-link.ts';
import type { ServicesGround } from '../pod-network/node-pod-network.ts';
import { createServiceTable, type ServiceTable } from '../service-table/service-table.ts';
import { Draining, nodeAddressIndex } from './draining.ts';
import { keepServices, readKeptServices } from './kept-services.ts';
import { NamesKeeper } from './names-keeper.ts';
import { namesServiceAt } from './names-service.ts';
import { namespaceIndex, ServiceFeed, sliceIndex } from './service-feed.ts';
import type { ServiceLinks } from './service-links.ts';
import { slimService, slimSlice } from './slim-objects.ts';
import { resolversBeside } from './views.ts';

export interface ServicesOptions {
  readonly client: Pick<Client, 'services' | 'endpointSlices' | 'leases' | 'events' | 'pages'>;
  readonly nodeName: string;
  readonly nodeDir: string;
  /** Tells installations on one machine apart. */
  readonly tag: string;
  readonly networks: Informer<NodeNetwork>;
  /** Where this agent reaches the API server; the pods' connections to it go the same way. */
  readonly server: string | undefined;
  /** This node's. */
  readonly pods: Informer<Pod>;
  readonly ground: ServicesGround;
  /** The node's InternalIP. */
  readonly address: string;
  readonly metrics: MetricsRegistry;
  /** Runs the transactions of all tables of this node. */
  readonly nft: NftProcess;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called before anything else. */
  readonly onDraining: (draining: Draining) => void;
  /** Ports of the machine that lead to this node's pods. */
  readonly hostPorts: Pick<HostPorts, 'useTable' | 'whenRestored'>;
  /** Another program removed the table. */
  readonly onLost: () => void;
  /** Called before the table is built. */
  readonly onTable: (table: Pick<ServiceTable, 'status'>) => void;
  /** Told when Services are known. */
  readonly links: Pick<ServiceLinks, 'known'>;
}

/** So long the engine is waited for, which says which ports of the machine lead to pods. */
const restoreMs = 10_000;
/** So long a server that does not answer is waited for before what an agent before knew is used. */
const keptAfterMs = 5_000;
/** No Service has such a name. */
const resolversKey = 'names of nodes';
/**
 * Carries Services on this node and answers names, until aborted. What is in the kernel stays. Begins when the server
 * has told all Services, or with what was kept of them.
 */
export async function runServices(options: ServicesOptions, signal: AbortSignal): Promise<void> {
  const { client, nodeName, nodeDir, tag, networks, pods, ground, metrics, nft, clock, logger } = options;
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
    ...{ cluster: tag, node: nodeName, podRanges: ground.pods, serviceRanges: ground.services, nft, logger },
    ...{ onLost: options.onLost, server: options.server === undefined ? undefined : parseServer(options.server) },
    relayed: { addresses: relayedAddresses(ground), range: ground.range },
  });
  options.hostPorts.useTable(table);
  options.onTable(table);
  const namesService = namesServiceAt(namesAddressOf(ground.services[0] ?? ''));
  const names = new NamesKeeper({
    ...{ ...base, metrics, address: ground.gateway, clusterDomain: ground.domain },
    clusterCidrs: [...ground.pods, ...ground.services],
    snapshot: () => namesService.snapshot(feed.snapshot()),
  });
  const relay = openRelay({ ...options, setTable: (key, service) => table.set(key, service) });
  const kept = keepServices({ ...base, nodeDir, known: () => feed.known() });
  const nodes = () => networks.lister.list().map(({ metadata }) => metadata?.name ?? '');
  const announcer = openAnnouncer({ ...base, client, nodeName, nodeDir, address: options.address, nodes });
  const health = openHealthPorts(options, services);
  const feed: ServiceFeed = new ServiceFeed({
    ...{ services, slices, pods },
    setTable: (key, service) => {
      if (relay?.take(key, service)) return;
      for (const each of [table, announcer, health]) each.set(key, service);
    },
    applyNames: (changes) => names.apply(changes.map(namesService.change)),
    changed: () => kept.changed(),
  });
  const leave = [feed.follow(), followResolvers(options, table, signal)];
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
    const whole = synced.then(() => signal.aborted || feed.synced());
    const carried = whole.then(() => table.settled());
    const balancing = [announcer.run(carried, signal), health.run(signal)];
    // The table of before, with its ports, is in force meanwhile.
    const restored = Promise.race([options.hostPorts.whenRestored, pause(restoreMs, signal, clock)]);
    const tabled = restored.then(() => table.run(signal));
    await Promise.all([tabled, names.run(signal), kept.run(signal), relay?.run(signal), ...balancing]);
  };
  try {
    await Promise.all([services.run(signal), slices.run(signal), begin()]);
  } finally {
    for (const each of leave) each();
  }
}

/** A port that another program has is told at the service. */
function openHealthPorts({ client, nodeName, clock, logger }: ServicesOptions, services: Informer<Service>): HealthPorts {
  const events = createEventRecorder({ client: client.events, component: 'agent', host: nodeName, clock, logger });
  const onFailure = (key: string, words: string): void => {
    const service = services.lister.get(key);
    if (service) events.event(referenceTo('Service', service), 'Warning', 'FailedToStartServiceHealthcheck', words);
  };
  return new HealthPorts({ nodeName, clock, logger, onFailure });
}

/** The second name server of this node's pods follows the nodes; until the server has told them, those of before. */
function followResolvers(options: ServicesOptions, table: ServiceTable, signal: AbortSignal): () => void {
  const { networks, nodeName, ground } = options;
  const [range = ''] = ground.services;
  const address = namesAddressOf(range);
  const before = ground.others.map((others) => ({ metadata: { name: others }, podCIDRs: [others] }));
  const known = () => (networks.hasSynced() ? networks.lister.list() : before);
  const set = () => table.set(resolversKey, resolversBeside(known(), { nodeName, gateway: ground.gateway }, address));
  set();
  // Also of a cluster that has no other node any more.
  void networks.waitForSync(signal).then(() => signal.aborted || set());
  return networks.addHandler({ name: 'resolvers', onAdd: set, onUpdate: set, onDelete: set });
}
