import { defaultNetwork } from '../api/meta/cluster-ranges.ts';
import { controlPlaneAddressOf, controlPlaneNames, kubernetesAddressOf } from '../api/meta/control-plane.ts';
import { parseServiceRanges } from './allocation/ranges.ts';
import type { ServerOptions } from './options.ts';
import { ControlPlaneService } from './registry/control-plane-service.ts';
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
  const hosts = [listen, ...(kubernetesListen ? [kubernetesListen] : [])].map(hostOf);
  const addresses = Object.values(controlPlaneAddresses(options));
  return [...hosts, ...(advertise ? [advertise] : []), ...controlPlaneNames(clusterDomain), ...addresses];
}

const hostOf = (listen: string): string => listen.slice(0, listen.lastIndexOf(':')).replace(/^\[|\]$/g, '');

/** Makes the Service of a server that listens; the result resolves when it is kept no more, after the signal. */
export async function keepControlPlaneService(
  { registry, port }: { readonly registry: Registry; readonly port: number },
  options: Pick<ServerOptions, 'serviceRanges' | 'log'>,
  signal: AbortSignal,
): Promise<{ readonly ended: Promise<void> }> {
  const service = new ControlPlaneService({ registry, port, address: controlPlaneAddresses(options).berth, log: options.log });
  await service.begin();
  return { ended: service.run(signal) };
}
