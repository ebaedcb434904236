import type { ContainerPort, Endpoint, EndpointPort, Pod, Service, ServicePort } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import { ipVersion } from '../../api/meta/ip.ts';
import { isInRanges, type RangesOf } from '../node-pod-ranges.ts';

/** The address types of slices that hold pods. */
export type Family = 'IPv4' | 'IPv6';

/** The addresses of a pod; those of its host where it shares the host's network. Without one it is no endpoint yet. */
export function addressesOf({ spec, status = {} }: Pod): string[] {
  const listed = (status.podIPs ?? []).flatMap(({ ip }) => ip || []);
  const own = listed.length > 0 ? listed : [status.podIP ?? ''];
  const known = own.filter((address) => address !== '');
  return known.length === 0 && spec?.hostNetwork && status.hostIP ? [status.hostIP] : known;
}

export function addressOf(pod: Pod, family: Family): string | undefined {
  return addressesOf(pod).find((address) => `IPv${ipVersion(address)}` === family);
}

/**
 * Whether the pod may be an endpoint: it has not ended, and other nodes reach it. Addresses of an engine's network are
 * the same on several hosts.
 */
export function mayServe(pod: Pod, rangesOf: RangesOf): boolean {
  const { hostNetwork, nodeName = '' } = pod.spec ?? {};
  if (isFinished(pod)) return false;
  const ranges = hostNetwork ? [] : rangesOf(nodeName);
  return ranges.length === 0 || addressesOf(pod).some((address) => isInRanges(address, ranges));
}

/** What a slice says of a pod. */
export function endpointOf(service: Service, pod: Pod, address: string, zone: string | undefined): Endpoint {
  const serving = isPodReady(pod);
  const terminating = pod.metadata?.deletionTimestamp !== undefined;
  const ready = service.spec?.publishNotReadyAddresses === true || (serving && !terminating);
  const hostname = hostnameOf(service, pod);
  const { nodeName } = pod.spec ?? {};
  return {
    addresses: [address],
    conditions: { ready, serving, terminating },
    ...(hostname && { hostname }),
    targetRef: targetOf(pod),
    ...(nodeName && { nodeName }),
    ...(zone && { zone }),
  };
}

export function targetOf({ metadata = {} }: Pod): NonNullable<Endpoint['targetRef']> {
  const { namespace, name, uid } = metadata;
  return { kind: 'Pod', ...(namespace && { namespace }), ...(name && { name }), ...(uid && { uid }) };
}

/** The name of a pod below that of its headless service, as those of a StatefulSet have it. */
export function hostnameOf(service: Service, { spec }: Pod): string | undefined {
  return spec?.hostname && spec.subdomain === service.metadata?.name ? spec.hostname : undefined;
}

/**
 * The ports of a pod behind those of its service, in the service's order: a name is looked up in the pod's containers.
 * A port that the pod does not have is left out.
 */
export function portsOf({ spec }: Service, pod: Pod): EndpointPort[] {
  return (spec?.ports ?? []).flatMap((port) => {
    const number = targetPort(port, pod);
    if (number === undefined) return [];
    const { name = '', protocol = 'TCP', appProtocol } = port;
    return [{ name, protocol, port: number, ...(appProtocol !== undefined && { appProtocol }) }];
  });
}

/** Undefined: the pod has no port of that name. */
export function targetPort({ targetPort: target, port, protocol = 'TCP' }: ServicePort, pod: Pod): number | undefined {
  if (target?.type !== 1) return target?.intVal || port;
  const isMeant = (each: ContainerPort): boolean => each.name === target.strVal && (each.protocol || 'TCP') === protocol;
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  const sidecars = initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...containers, ...sidecars].flatMap(({ ports = [] }) => ports).find(isMeant)?.containerPort;
}
