import type { Service, ServicePort, ServiceSpec } from '../../generated/types.ts';
import { equalValues } from '../../meta/equal.ts';
import type { Lifecycle } from '../kind.ts';
import { hasNodePorts, isReachedFromOutside, needsHealthCheck } from './defaults.ts';

/**
 * A service keeps the addresses and ports that an update does not mention, and loses those that its new type has no use
 * for, unless the update itself sets them: then they are refused.
 */
export const serviceLifecycle: Lifecycle<Service> = {
  prepareForUpdate({ spec }, { spec: before }) {
    if (!spec || !before) return;
    followAddress(spec, before);
    keep(spec, before);
    if (spec.type !== before.type) dropOfOtherType(spec, before);
  },
};

/** A change of the one address is a change of the first of the list as well. */
function followAddress(spec: ServiceSpec, before: ServiceSpec): void {
  if (spec.clusterIP === before.clusterIP || !equalValues(spec.clusterIPs, before.clusterIPs)) return;
  if (spec.clusterIP) spec.clusterIPs = [spec.clusterIP];
  else delete spec.clusterIPs;
}

const hasAddress = ({ type }: ServiceSpec): boolean => type !== 'ExternalName';

function keep(spec: ServiceSpec, before: ServiceSpec): void {
  if (hasAddress(spec) && hasAddress(before) && !spec.clusterIP && !spec.clusterIPs?.length) {
    if (before.clusterIP) spec.clusterIP = before.clusterIP;
    if (before.clusterIPs) spec.clusterIPs = before.clusterIPs;
  }
  if (hasAddress(spec) && hasAddress(before)) keepFamilies(spec, before);
  if (hasNodePorts(spec) && hasNodePorts(before)) keepNodePorts(spec.ports ?? [], before.ports ?? []);
  if (needsHealthCheck(spec) && needsHealthCheck(before) && !spec.healthCheckNodePort && before.healthCheckNodePort)
    spec.healthCheckNodePort = before.healthCheckNodePort;
}

function keepFamilies(spec: ServiceSpec, before: ServiceSpec): void {
  if (!spec.ipFamilyPolicy && before.ipFamilyPolicy) spec.ipFamilyPolicy = before.ipFamilyPolicy;
  if (spec.ipFamilies?.length || !before.ipFamilies?.length) return;
  // The policy of one family gives up the second, unless the update says another.
  spec.ipFamilies = spec.ipFamilyPolicy === 'SingleStack' ? before.ipFamilies.slice(0, 1) : before.ipFamilies;
}

const nameOf = ({ port = 0, protocol = '' }: ServicePort): string => `${protocol}/${port}`;

function keepNodePorts(ports: readonly ServicePort[], before: readonly ServicePort[]): void {
  const known = new Map(before.map((port) => [nameOf(port), port.nodePort]));
  const taken = new Set(ports.map(({ nodePort }) => nodePort));
  for (const port of ports) {
    const nodePort = known.get(nameOf(port));
    if (!port.nodePort && nodePort && !taken.has(nodePort)) port.nodePort = nodePort;
  }
}

function dropOfOtherType(spec: ServiceSpec, before: ServiceSpec): void {
  const drop = (...names: (keyof ServiceSpec)[]): void => {
    for (const name of names) if (equalValues(spec[name], before[name])) delete spec[name];
  };
  if (!hasAddress(spec)) drop('clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy');
  if (!hasNodePorts(spec) && hasNodePorts(before)) {
    const known = new Set((before.ports ?? []).map(({ nodePort }) => nodePort));
    for (const port of spec.ports ?? []) if (known.has(port.nodePort)) delete port.nodePort;
  }
  if (!needsHealthCheck(spec)) drop('healthCheckNodePort');
  if (spec.type !== 'LoadBalancer') drop('allocateLoadBalancerNodePorts', 'loadBalancerClass');
  if (!isReachedFromOutside(spec)) drop('externalTrafficPolicy');
}
