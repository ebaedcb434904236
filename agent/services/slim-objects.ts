import type { EndpointSlice, ObjectMeta, Service } from '../../api/generated/types.ts';
import { isControlPlane } from '../../api/meta/control-plane.ts';
import { serviceLabels } from '../../api/meta/service-names.ts';

/**
 * What an agent keeps of every Service and EndpointSlice of the cluster: what carries connections and answers names.
 * Labels, annotations, references and hints go, but for the label by which the server knows its own Services.
 */
export function slimService({ metadata, spec, status }: Service): Service {
  if (!spec) return { metadata: identityOf(metadata) };
  const { type, clusterIP, clusterIPs, externalIPs, externalName, publishNotReadyAddresses, ports } = spec;
  const { sessionAffinity, sessionAffinityConfig, internalTrafficPolicy, externalTrafficPolicy } = spec;
  const { loadBalancerSourceRanges, healthCheckNodePort } = spec;
  const kept = {
    ...{ loadBalancerSourceRanges, healthCheckNodePort },
    ...{ type, clusterIP, clusterIPs, externalIPs, externalName, publishNotReadyAddresses },
    ...{ sessionAffinity, sessionAffinityConfig, internalTrafficPolicy, externalTrafficPolicy },
    ports: ports?.map(({ name, protocol, port, nodePort }) => definedOf({ name, protocol, port, nodePort })),
  };
  const ingress = status?.loadBalancer?.ingress?.map(({ ip, ipMode }) => definedOf({ ip, ipMode })) ?? [];
  const { namespace = '', name = '', labels: { provider } = {} } = metadata ?? {};
  const isServers = provider !== undefined && isControlPlane({ namespace, name });
  return {
    metadata: { ...identityOf(metadata), ...(isServers && { labels: { provider } }) },
    spec: definedOf(kept),
    ...(ingress.length > 0 && { status: { loadBalancer: { ingress } } }),
  };
}

export function slimSlice({ metadata, addressType, endpoints, ports }: EndpointSlice): EndpointSlice {
  const service = metadata?.labels?.[serviceLabels.serviceName];
  return {
    metadata: { ...identityOf(metadata), ...(service !== undefined && { labels: { [serviceLabels.serviceName]: service } }) },
    addressType,
    endpoints: endpoints?.map(({ addresses, conditions, hostname, nodeName }) =>
      definedOf({ addresses, conditions, hostname, nodeName }),
    ),
    ports: ports?.map(({ name, protocol, port }) => definedOf({ name, protocol, port })),
  };
}

function identityOf({ namespace, name, uid, resourceVersion }: ObjectMeta = {}): ObjectMeta {
  return { namespace, name, uid, resourceVersion };
}

const definedOf = <T extends object>(object: T): T =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T;
