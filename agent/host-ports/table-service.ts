import { isIPv4 } from 'node:net';
import type { PortMapping } from '../runtime/runtime.ts';
import type { TableEndpoint, TableService } from '../service-table/service.ts';

const allAddresses: readonly string[] = ['', '0.0.0.0'];
const loopback = '127.0.0.1';

/** Whether the table can lead the port to a pod; others are left to the engine's network (SCTP, IPv6). */
export const canPublish = ({ protocol, hostIP }: PortMapping): boolean =>
  protocol !== 'sctp' && (hostIP === '' || isIPv4(hostIP));

/** Two mappings with this key are the same port of the machine. */
export const portKey = ({ protocol, hostIP, hostPort }: PortMapping): string =>
  `${protocol} ${allAddresses.includes(hostIP) ? '*' : hostIP}:${hostPort}`;

/**
 * The port as the table sees it: as a node port, which has no loopback address by itself, or at the one address that it
 * is for. Policy Local keeps the client's address.
 */
export function tableServiceOf(
  { protocol, hostIP, hostPort, containerPort }: PortMapping,
  address: string,
  node: string,
): TableService {
  const endpoint: TableEndpoint = { address, port: containerPort, ready: true, serving: true, terminating: false, node };
  const isForAll = allAddresses.includes(hostIP);
  return {
    clusterAddresses: [],
    externalAddresses: [isForAll ? loopback : hostIP],
    loadBalancerAddresses: [],
    ports: [
      {
        protocol: protocol === 'udp' ? 'UDP' : 'TCP',
        port: hostPort,
        ...(isForAll && { nodePort: hostPort }),
        endpoints: [endpoint],
      },
    ],
    internalPolicy: 'Cluster',
    externalPolicy: 'Local',
    publishNotReadyAddresses: true,
    isHeldByAgent: true,
  };
}
