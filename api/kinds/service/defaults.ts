import type { Service, ServiceSpec } from '../../generated/types.ts';

/** How long a client stays with its pod after its last connection. */
const AFFINITY_SECONDS = 10_800;

/** Everything that Kubernetes fills in, but for what it allocates. */
export function defaultService(service: Service): void {
  service.spec ??= {};
  const { spec } = service;
  spec.type ||= 'ClusterIP';
  defaultAffinity(spec);
  spec.ports?.forEach((port) => {
    port.protocol ||= 'TCP';
    const { targetPort } = port;
    const isSaid = targetPort?.type === 1 ? targetPort.strVal : targetPort?.intVal;
    if (!isSaid && port.port) port.targetPort = { type: 0, intVal: port.port };
  });
  if (isReachedFromOutside(spec)) spec.externalTrafficPolicy ||= 'Cluster';
  if (spec.type !== 'ExternalName') spec.internalTrafficPolicy ||= 'Cluster';
  if (spec.type === 'LoadBalancer') spec.allocateLoadBalancerNodePorts ??= true;
  defaultAddresses(spec);
}

function defaultAffinity(spec: ServiceSpec): void {
  spec.sessionAffinity ||= 'None';
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig;
  if (spec.sessionAffinity !== 'ClientIP') return;
  if (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds === undefined)
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: AFFINITY_SECONDS } };
}

/** The one address is the first of the list. */
function defaultAddresses(spec: ServiceSpec): void {
  if (spec.type === 'ExternalName') return;
  if (spec.clusterIP && !spec.clusterIPs?.length) spec.clusterIPs = [spec.clusterIP];
}

/** Whether connections from outside the cluster may reach the service. */
export function isReachedFromOutside({ type, externalIPs }: ServiceSpec): boolean {
  return type === 'LoadBalancer' || type === 'NodePort' || (type === 'ClusterIP' && (externalIPs ?? []).length > 0);
}

/** Whether a load balancer has to ask the nodes which of them have pods of the service. */
export function needsHealthCheck({ type, externalTrafficPolicy }: ServiceSpec): boolean {
  return type === 'LoadBalancer' && externalTrafficPolicy === 'Local';
}

export const hasNodePorts = ({ type }: ServiceSpec): boolean => type === 'NodePort' || type === 'LoadBalancer';

/** Whether the service has no address of its own: its name stands for the addresses of its pods. */
export const isHeadless = ({ clusterIP, clusterIPs }: ServiceSpec): boolean => (clusterIPs?.[0] ?? clusterIP) === 'None';
