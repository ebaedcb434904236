import { networkInterfaces } from 'node:os';
import type { NodeNetwork } from '../../api/generated/types.ts';
import {
  controlPlaneAddressOf,
  controlPlaneService,
  kubernetesAddressOf,
  kubernetesService,
} from '../../api/meta/control-plane.ts';
import type { MetricsRegistry } from '../../api/metrics/index.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import type { Informer } from '../../client/informer/informer.ts';
import type { Logger } from '../../client/logger.ts';
import type { ServicesGround } from '../pod-network/node-pod-network.ts';
import type { TableService } from '../service-table/service.ts';
import { KubernetesDoor } from './kubernetes-door.ts';
import { parseServer, RelayKeeper } from './relay-keeper.ts';
import { isOfThisMachine } from './sources.ts';

export interface OpenRelayOptions {
  readonly client: Pick<Client, 'pages'>;
  readonly nodeName: string;
  readonly networks: Informer<NodeNetwork>;
  /** Where this agent reaches the API server, "host:port"; undefined: pods are not led there. */
  readonly server: string | undefined;
  readonly ground: ServicesGround;
  setTable(key: string, service: TableService | undefined): void;
  readonly metrics: MetricsRegistry;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface OpenedRelay extends Pick<RelayKeeper, 'take'> {
  /** Until aborted. Never throws. */
  run(signal: AbortSignal): Promise<unknown>;
}

/** Interfaces of the machine are read at most so often, whatever arrives at the relay. */
const interfacesMs = 1_000;

const keyOf = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string => `${namespace}/${name}`;

/** The usual addresses of the Services that the relay serves. */
export const relayedAddresses = ({ services: [range = ''] }: Pick<ServicesGround, 'services'>): readonly string[] => [
  controlPlaneAddressOf(range),
  kubernetesAddressOf(range),
];

/** What leads the control plane's Services, `berth` and `kubernetes`, to the server's two doors. */
export function openRelay(options: OpenRelayOptions): OpenedRelay | undefined {
  const { client, ground, nodeName, networks, setTable, metrics, clock, logger } = options;
  if (options.server === undefined) return undefined;
  const server = parseServer(options.server);
  const door = new KubernetesDoor({ pages: client.pages, server, clock, logger });
  const interfaces = remembered(networkInterfaces, clock);
  const [own, kubernetes] = relayedAddresses(ground) as readonly [string, string];
  const keeper = new RelayKeeper({
    ...{ address: ground.gateway, nodeName, setTable, metrics, clock, logger },
    services: [
      {
        key: keyOf(controlPlaneService),
        isOurs: ({ clusterAddresses }) => clusterAddresses.includes(own),
        server: () => server,
      },
      {
        key: keyOf(kubernetesService),
        // It has another address where one that is older than Berth's has that.
        isOurs: ({ clusterAddresses, provider }) => clusterAddresses.includes(kubernetes) || provider === kubernetesService.name,
        server: () => door.address,
        changed: () => door.look(),
      },
    ],
    isAllowed: (source) =>
      isOfThisMachine(source, { nodeName, range: ground.range, networks: networks.lister.list(), interfaces }),
  });
  return {
    take: (key, service) => keeper.take(key, service),
    run: (signal) => Promise.all([keeper.run(signal), door.run(signal)]),
  };
}

function remembered<T>(read: () => T, clock: Clock): () => T {
  let last: { readonly at: number; readonly value: T } | undefined;
  return () => {
    if (last === undefined || clock.now() - last.at > interfacesMs) last = { at: clock.now(), value: read() };
    return last.value;
  };
}
