import type { TableEndpoint, TablePort, TableService } from '../../agent/service-table/service.ts';

/** A ready endpoint on a port; `node1` unless told otherwise. */
export function endpoint(address: string, port = 8080, more: Partial<TableEndpoint> = {}): TableEndpoint {
  return { address, port, ready: true, serving: true, terminating: false, node: 'node1', ...more };
}

/** An endpoint that ends: it gets new connections only as the last resort. */
export const terminating = (address: string, port = 8080, more: Partial<TableEndpoint> = {}): TableEndpoint =>
  endpoint(address, port, { ready: false, terminating: true, ...more });

export function port(number: number, endpoints: readonly TableEndpoint[], more: Partial<TablePort> = {}): TablePort {
  return { protocol: 'TCP', port: number, endpoints, ...more };
}

/** A Service with one cluster address. */
export function tableService(
  clusterAddress: string,
  ports: readonly TablePort[],
  more: Partial<TableService> = {},
): TableService {
  return {
    clusterAddresses: [clusterAddress],
    externalAddresses: [],
    loadBalancerAddresses: [],
    ports,
    internalPolicy: 'Cluster',
    externalPolicy: 'Cluster',
    publishNotReadyAddresses: false,
    ...more,
  };
}
