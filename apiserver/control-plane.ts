import { defaultNetwork } from '../api/meta/cluster-ranges.ts';
import {
  controlPlaneAddressOf,
  controlPlaneNames,
  controlPlaneService,
  kubernetesAddressOf,
  kubernetesService,
} from '../api/meta/control-plane.ts';
import type { Aggregation } from './aggregation/aggregation.ts';
import { parseServiceRanges } from './allocation/ranges.ts';
import { keepDoorPlace } from './door-place.ts';
import { splitListen } from './listen-address.ts';
import type { ServerOptions } from './options.ts';
import type { HeldCertificates } from './pki/held-certificates.ts';
import { ControlPlaneService } from './registry/keepers/control-plane-service.ts';
import type { Registry } from './registry/registry.ts';

/** The addresses of the Services that lead pods to the server, one for each door. */
export function controlPlaneAddresses({
  serviceRanges,
}: Pick<ServerOptions, 'serviceRanges'>): Readonly<Record<'berth' | 'kubernetes', string>> {
  const { text } = parseServiceRanges(serviceRanges).addresses.range;
  return { berth: controlPlaneAddressOf(text), kubernetes: kubernetesAddressOf(text) };
}

/** What the server's certificate names: its hosts, and the Services that lead pods to it. */
export function certifiedHosts(options: ServerOptions): string[] {
  const { listen, kubernetesListen, advertise, clusterDomain = defaultNetwork.clusterDomain } = options;
  const hosts = [listen, ...(kubernetesListen ? [kubernetesListen] : [])].map((each) => splitListen(each).host);
  const addresses = Object.values(controlPlaneAddresses(options));
  return [...hosts, ...(advertise ? [advertise] : []), ...controlPlaneNames(clusterDomain), ...addresses];
}

/** What listens, and what the Services that lead there depend on. */
export interface ControlPlaneDoors {
  readonly registry: Registry;
  readonly port: number;
  /** Where Kubernetes' HTTP API is served, HOST:PORT; undefined: nowhere. */
  readonly kubernetes: string | undefined;
  readonly certificates: Pick<HeldCertificates, 'alsoName' | 'trusted' | 'observe'>;
  /** The groups behind other doors. */
  readonly aggregation: Pick<Aggregation, 'run'>;
}

/**
 * Makes the Services of a server that listens, one for each door, and what says where Kubernetes' clients are served;
 * the result resolves when they are kept no more, after the signal.
 */
export async function keepControlPlaneServices(
  { registry, port, kubernetes, certificates, aggregation }: ControlPlaneDoors,
  options: Pick<ServerOptions, 'serviceRanges' | 'advertise' | 'log'>,
  signal: AbortSignal,
): Promise<{ readonly ended: Promise<unknown> }> {
  const addresses = controlPlaneAddresses(options);
  const { log } = options;
  const services = [
    new ControlPlaneService({ ...{ registry, log, port }, service: controlPlaneService, address: addresses.berth }),
    new ControlPlaneService({
      ...{ registry, log, service: kubernetesService, address: addresses.kubernetes },
      port: kubernetes === undefined ? undefined : splitListen(kubernetes).port,
      onOtherAddress: (address) => certificates.alsoName(address),
    }),
  ];
  for (const service of services) await service.begin();
  const place = await keepDoorPlace({ registry, log, listen: kubernetes, advertised: options.advertise, certificates }, signal);
  return { ended: Promise.all([place.ended, ...[...services, aggregation].map((each) => each.run(signal))]) };
}
