import type { Tunnels } from '../../tunnel/tunnels.ts';
import type { ResourceRequest } from '../resource-routes.ts';
import { logRoute } from './pod-log.ts';
import { commandRoute } from './remote-command.ts';
import type { StreamRoute } from './stream-route.ts';

export interface StreamRouteDeps {
  readonly tunnels: Tunnels;
}

/** How a request is served that streams to or from a pod; undefined for all others. */
export function streamRouteOf(of: ResourceRequest, { tunnels }: StreamRouteDeps): StreamRoute | undefined {
  const { store, target, request } = of;
  if (store.id !== 'Pod' || target.name === '' || target.rest !== '') return undefined;
  const deps = { pods: store, tunnels };
  if (target.subresource === 'log' && request.method === 'GET') return logRoute(of, deps);
  const isCommand = target.subresource === 'exec' || target.subresource === 'attach';
  if (isCommand && (request.method === 'GET' || request.method === 'POST')) return commandRoute(of, deps);
  return undefined;
}
