import type { Logger } from 'pino';
import { groupOf } from '../../api/kinds/identity.ts';
import type { FrontProxy } from '../pki/front-proxy.ts';
import type { HeldCertificates } from '../pki/held-certificates.ts';
import type { Registry } from '../registry/registry.ts';
import type { Tunnels } from '../tunnel/tunnels.ts';
import { Availability } from './availability.ts';
import { ExtensionConnections } from './extension-connections.ts';
import type { ExtensionDeps } from './extension-server.ts';
import { keepExtensionTrust } from './extension-trust.ts';
import { programServices } from './local-groups.ts';
import { RemoteGroups } from './remote-groups.ts';

export interface AggregationOptions {
  readonly registry: Registry;
  readonly tunnels: Tunnels;
  readonly frontProxy: FrontProxy;
  readonly certificates: Pick<HeldCertificates, 'trusted' | 'observe'>;
  readonly log: Logger;
  readonly random: () => number;
}

/** The groups that extension servers serve. */
export interface Aggregation {
  readonly groups: RemoteGroups;
  /** How the servers are reached; absent where there are no APIServices, as in tests with few kinds. */
  readonly deps: ExtensionDeps | undefined;
  /** Absent with `deps`. */
  readonly connections: ExtensionConnections | undefined;
  /** Follows the APIServices, until aborted. Never throws. */
  run(signal: AbortSignal): Promise<void>;
}

export function createAggregation({ registry, tunnels, frontProxy, certificates, log, random }: AggregationOptions): Aggregation {
  const { stores } = registry;
  const [apiServices, services, slices] = [stores.get('APIService'), stores.get('Service'), stores.get('EndpointSlice')];
  const pods = stores.get('Pod');
  const own = new Set([...programServices(stores).values()].map(({ spec }) => `${spec.group}/${spec.version}`));
  if (apiServices) own.add(`${groupOf(apiServices.kind.apiVersion)}/v1`);
  const groups = new RemoteGroups(apiServices, own);
  groups.observe();
  if (!apiServices || !services || !slices || !pods) {
    return { groups, deps: undefined, connections: undefined, run: async () => {} };
  }
  const deps: ExtensionDeps = { services, slices, pods, tunnels, random, frontProxy };
  const connections = new ExtensionConnections(deps);
  return {
    ...{ groups, deps, connections },
    async run(signal) {
      const availability = new Availability({ ...deps, groups, apiServices, log });
      const trusting = keepExtensionTrust({ registry, certificates, frontProxy, log }, signal);
      await Promise.all([availability.run(signal), connections.run(apiServices, groups, signal), trusting]);
    },
  };
}
