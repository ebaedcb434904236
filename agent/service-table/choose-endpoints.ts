import { isIPv4 } from 'node:net';
import { isPort, type TableEndpoint, type TableService } from './service.ts';

/**
 * What becomes of new connections: they are spread over endpoints (at least one, sorted, each once), refused because
 * the Service has none, or dropped because policy Local allows none of those that it has.
 */
export type Choice = { readonly endpoints: readonly TableEndpoint[] } | 'refused' | 'dropped';

type Publishing = Pick<TableService, 'publishNotReadyAddresses'>;

/**
 * The endpoints that get new connections, on all nodes or (`node`) on one. Ready ones; where there are none, those that
 * terminate and still serve (Kubernetes: kube-proxy's CategorizeEndpoints).
 */
export function chooseEndpoints(all: readonly TableEndpoint[], service: Publishing, node?: string): Choice {
  const anywhere = usable(all, service);
  if (anywhere.length === 0) return 'refused';
  if (node === undefined) return { endpoints: anywhere };
  const here = usable(
    all.filter((endpoint) => endpoint.node === node),
    service,
  );
  return here.length === 0 ? 'dropped' : { endpoints: here };
}

/** Whether established UDP flows to it go on: it is ready, or terminates and still serves. */
export function keepsFlows(endpoint: TableEndpoint, service: Publishing): boolean {
  return isReady(endpoint, service) || endpoint.serving;
}

const isReady = (endpoint: TableEndpoint, service: Publishing): boolean => endpoint.ready || service.publishNotReadyAddresses;

function usable(all: readonly TableEndpoint[], service: Publishing): TableEndpoint[] {
  const ready = all.filter((endpoint) => isReady(endpoint, service));
  const chosen = ready.length > 0 ? ready : all.filter((endpoint) => endpoint.serving && endpoint.terminating);
  const each = new Map<string, TableEndpoint>();
  for (const endpoint of chosen) {
    if (isIPv4(endpoint.address) && isPort(endpoint.port)) each.set(`${endpoint.address}:${endpoint.port}`, endpoint);
  }
  return [...each.keys()].sort().map((key) => each.get(key)!);
}
