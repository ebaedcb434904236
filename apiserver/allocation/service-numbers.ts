import type { ServicePort, ServiceSpec } from '../../api/generated/types.ts';
import { hasNodePorts, isHeadless, needsHealthCheck } from '../../api/kinds/service/defaults.ts';
import { addressNumber } from '../../api/meta/address-range.ts';

/** The addresses and node ports of a service, as numbers. */
export interface ServiceNumbers {
  readonly addresses: readonly number[];
  readonly ports: readonly number[];
}

/** What a service holds. Addresses of other families are not the cluster's. */
export function numbersOf(spec: ServiceSpec = {}): ServiceNumbers {
  const texts = spec.clusterIPs?.length ? spec.clusterIPs : [spec.clusterIP ?? ''];
  const ports = (spec.ports ?? []).map(({ nodePort = 0 }) => nodePort);
  return {
    addresses: [...new Set(texts.flatMap((text) => addressNumber(text) ?? []))],
    ports: [...new Set([...ports, spec.healthCheckNodePort ?? 0])].filter((port) => port > 0),
  };
}

export function lacksAddress(spec: ServiceSpec): boolean {
  return spec.type !== 'ExternalName' && !isHeadless(spec) && !spec.clusterIP && !spec.clusterIPs?.length;
}

/** The ports that should have a port of the nodes, and have none. */
export function portsWithoutNodePort(spec: ServiceSpec): ServicePort[] {
  if (!hasNodePorts(spec) || (spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts === false)) return [];
  return (spec.ports ?? []).filter(({ nodePort = 0 }) => nodePort === 0);
}

/** The node port of the same port by another protocol, which both may have. */
export function sharedNodePort({ ports = [] }: ServiceSpec, { port, protocol }: ServicePort): number | undefined {
  const other = ports.find((each) => each.port === port && each.protocol !== protocol && each.nodePort);
  const isTaken = ports.some((each) => each.nodePort === other?.nodePort && each.protocol === protocol);
  return isTaken ? undefined : other?.nodePort;
}

export const lacksHealthPort = (spec: ServiceSpec): boolean => needsHealthCheck(spec) && !spec.healthCheckNodePort;
