import type { Registry } from '../../registry/registry.ts';
import type { Tunnels } from '../../tunnel/tunnels.ts';
import { proxyRoute } from '../proxy/proxy-route.ts';
import type { ResourceRequest } from '../resource-routes.ts';
import { logRoute } from './pod-log.ts';
import { portForwardRoute } from './port-forward.ts';
import { commandRoute } from './remote-command.ts';
import type { StreamRoute } from './stream-route.ts';

export interface StreamRouteDeps {
  readonly tunnels: Tunnels;
  readonly registry: Registry;
  readonly random: () => number;
}

/** How a request is served that streams to or from a pod, or through a proxy; undefined for all others. */
export function streamRouteOf(of: ResourceRequest, { tunnels, registry, random }: StreamRouteDeps): StreamRoute | undefined {
  const { store, target, request } = of;
  if (target.isWatch) return undefined;
  if (target.subresource === 'proxy') return proxyRoute(of, { stores: registry.stores, tunnels, random });
  if (store.id !== 'Pod' || target.name === '' || target.rest !== '') return undefined;
  const deps = { pods: store, tunnels };
  if (target.subresource === 'log' && request.method === 'GET') return logRoute(of, deps);
  if (request.method !== 'GET' && request.method !== 'POST') return undefined;
  if (target.subresource === 'exec' || target.subresource === 'attach') return commandRoute(of, deps);
  return target.subresource === 'portforward' ? portForwardRoute(of, deps) : undefined;
}
