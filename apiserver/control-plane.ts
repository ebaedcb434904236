import { defaultNetwork } from '../api/meta/cluster-ranges.ts';
import { controlPlaneAddressOf, controlPlaneNames } from '../api/meta/control-plane.ts';
import { parseServiceRanges } from './allocation/ranges.ts';
import type { ServerOptions } from './options.ts';
import { ControlPlaneService } from './registry/control-plane-service.ts';
import type { Registry } from './registry/registry.ts';

const addressOf = ({ serviceRanges }: Pick<ServerOptions, 'serviceRanges'>): string =>
  controlPlaneAddressOf(parseServiceRanges(serviceRanges).addresses.range.text);

/** What the server's certificate names: its hosts, and the Service that leads pods to it. */
export function certifiedHosts(options: ServerOptions): string[] {
  const { listen, advertise, clusterDomain = defaultNetwork.clusterDomain } = options;
  const host = listen.slice(0, listen.lastIndexOf(':')).replace(/^\[|\]$/g, '');
  return [host, ...(advertise ? [advertise] : []), ...controlPlaneNames(clusterDomain), addressOf(options)];
}

/** Makes the Service of a server that listens; the result resolves when it is kept no more, after the signal. */
export async function keepControlPlaneService(
  { registry, port }: { readonly registry: Registry; readonly port: number },
  options: Pick<ServerOptions, 'serviceRanges' | 'log'>,
  signal: AbortSignal,
): Promise<{ readonly ended: Promise<void> }> {
  const service = new ControlPlaneService({ registry, port, address: addressOf(options), log: options.log });
  await service.begin();
  return { ended: service.run(signal) };
}
