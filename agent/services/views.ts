import type { EndpointSlice, NodeNetwork, Service } from '../../api/generated/types.ts';
import { parseAddressRange } from '../../api/meta/address-range.ts';
import { serviceLabels } from '../../api/meta/service-names.ts';
import type { PortView, ServiceView, SliceView } from '../names/changes.ts';
import { gatewayAddressOf } from '../pod-network/gateway-link.ts';
import { rangeTextOf } from '../pod-network/neighbours.ts';
import type { Protocol, TableEndpoint, TablePort, TableService, TrafficPolicy } from '../service-table/service.ts';

/** Kubernetes' default of sessionAffinityConfig.clientIP.timeoutSeconds. */
const affinitySeconds = 10_800;

/** The key of the Service that a slice belongs to, "namespace/name"; undefined where it names none. */
export function serviceOfSlice({ metadata }: EndpointSlice): string | undefined {
  const service = metadata?.labels?.[serviceLabels.serviceName];
  return service ? `${metadata?.namespace}/${service}` : undefined;
}

/** What the table needs of a Service with its slices; undefined where nothing is to be carried. Pure. */
export function tableServiceOf(
  { metadata, spec = {}, status }: Service,
  slices: readonly EndpointSlice[],
): TableService | undefined {
  const { type, clusterIP = '', clusterIPs = [clusterIP], externalIPs = [], sessionAffinity, sessionAffinityConfig } = spec;
  if (type === 'ExternalName' || clusterIPs.includes('None')) return undefined;
  const timeout = sessionAffinityConfig?.clientIP?.timeoutSeconds ?? affinitySeconds;
  // A service of another type has lost what its status may still say.
  const ingress = type === 'LoadBalancer' ? (status?.loadBalancer?.ingress ?? []) : [];
  const { loadBalancerSourceRanges: sources = [], healthCheckNodePort } = spec;
  return {
    clusterAddresses: clusterIPs.filter((address) => address !== ''),
    externalAddresses: externalIPs,
    loadBalancerAddresses: ingress.flatMap(({ ip, ipMode }) => (ip && ipMode !== 'Proxy' ? [ip] : [])),
    ...(type === 'LoadBalancer' && sources.length > 0 && { sourceRanges: sources }),
    ...(healthCheckNodePort && { healthPort: healthCheckNodePort }),
    ...(metadata?.labels?.provider && { provider: metadata.labels.provider }),
    ports: (spec.ports ?? []).flatMap((port) => tablePortOf(port, slices)),
    ...(sessionAffinity === 'ClientIP' && { affinitySeconds: timeout }),
    internalPolicy: policyOf(spec.internalTrafficPolicy),
    externalPolicy: policyOf(spec.externalTrafficPolicy),
    publishNotReadyAddresses: spec.publishNotReadyAddresses === true,
  };
}

const policyOf = (text: string | undefined): TrafficPolicy => (text === 'Local' ? 'Local' : 'Cluster');

type ServicePort = NonNullable<NonNullable<Service['spec']>['ports']>[number];

/** None for a protocol that is not carried (SCTP). */
function tablePortOf(
  { name = '', protocol = 'TCP', port = 0, nodePort }: ServicePort,
  slices: readonly EndpointSlice[],
): TablePort[] {
  if (!isCarried(protocol)) return [];
  return [
    { protocol, port, nodePort: nodePort || undefined, endpoints: slices.flatMap((slice) => endpointsOf(slice, name, protocol)) },
  ];
}

const isCarried = (protocol: string): protocol is Protocol => protocol === 'TCP' || protocol === 'UDP';

function endpointsOf(
  { addressType, endpoints = [], ports = [] }: EndpointSlice,
  name: string,
  protocol: Protocol,
): TableEndpoint[] {
  if (addressType !== 'IPv4') return [];
  const port = ports.find((each) => (each.name ?? '') === name && (each.protocol ?? 'TCP') === protocol)?.port;
  if (!port) return [];
  return endpoints.flatMap(({ addresses = [], conditions = {}, nodeName = '' }) => {
    const { ready = true, serving = ready, terminating = false } = conditions;
    // Further addresses of an endpoint name the same thing.
    return addresses.slice(0, 1).map((address) => ({ address, port, ready, serving, terminating, node: nodeName }));
  });
}

/** What the resolver needs of a Service. */
export function serviceViewOf({ metadata, spec = {} }: Service): ServiceView {
  const { namespace = '', name = '' } = metadata ?? {};
  const { type = 'ClusterIP', clusterIP = '', clusterIPs = [clusterIP], externalName, publishNotReadyAddresses } = spec;
  return {
    ...{ namespace, name, clusterIPs, ports: portViewsOf(spec.ports ?? []) },
    type: type as ServiceView['type'],
    ...(externalName && { externalName }),
    ...(publishNotReadyAddresses && { publishNotReadyAddresses }),
  };
}

/** What the resolver needs of a slice; undefined for one that belongs to no Service. */
export function sliceViewOf({ metadata, endpoints = [], ports = [] }: EndpointSlice): SliceView | undefined {
  const serviceName = metadata?.labels?.[serviceLabels.serviceName];
  if (!serviceName) return undefined;
  const { namespace = '', name = '' } = metadata ?? {};
  return {
    ...{ namespace, name, serviceName, ports: portViewsOf(ports) },
    endpoints: endpoints.map(({ addresses = [], hostname, conditions: { ready = true } = {} }) => ({
      ...{ addresses, ready },
      ...(hostname && { hostname }),
    })),
  };
}

const portViewsOf = (ports: readonly { name?: string; protocol?: string; port?: number }[]): PortView[] =>
  ports.flatMap(({ name, protocol = 'TCP', port }) => (port ? [{ ...(name && { name }), protocol, port }] : []));

const namesPort = 53;

/**
 * The resolvers of the other nodes as a Service: the second server of every pod, for the time in which its own node's
 * does not answer. A node whose range is none is passed over. Where there is no other node it is its own resolver, so
 * that the address answers programs that know no other.
 */
export function resolversBeside(
  networks: readonly NodeNetwork[],
  own: { readonly nodeName: string; readonly gateway: string },
  address: string,
): TableService {
  const resolver = (node: string, gateway: string): TableEndpoint => ({
    ...{ address: gateway, port: namesPort, ready: true, serving: true, terminating: false, node },
  });
  const others = networks.flatMap((network): TableEndpoint[] => {
    const node = network.metadata?.name ?? '';
    const range = node === own.nodeName ? undefined : rangeTextOf(network);
    if (range === undefined) return [];
    try {
      return [resolver(node, gatewayAddressOf(parseAddressRange(range)))];
    } catch {
      return [];
    }
  });
  const endpoints = others.length > 0 ? others : [resolver(own.nodeName, own.gateway)];
  return {
    ...{ clusterAddresses: [address], externalAddresses: [], loadBalancerAddresses: [] },
    ports: (['UDP', 'TCP'] as const).map((protocol) => ({ protocol, port: namesPort, endpoints })),
    ...{ internalPolicy: 'Cluster', externalPolicy: 'Cluster', publishNotReadyAddresses: false },
  };
}
