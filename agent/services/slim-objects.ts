import type { EndpointSlice, ObjectMeta, Service } from '../../api/generated/types.ts';
import { isControlPlane } from '../../api/meta/control-plane.ts';
import { serviceLabels } from '../../api/meta/service-names.ts';

/**
 * What an agent keeps of every Service and EndpointSlice of the cluster: what carries connections and answers names.
 * Labels, annotations, references and hints go, but for the label by which the server knows its own Services.
 */
export const slimService = (service: Service): Service => new SlimService(service);

/** All but its identity is kept as text, two thirds of what the objects take, and is read when it changes. */
class SlimService implements Service {
  readonly metadata: ObjectMeta;
  readonly #spec: string | undefined;
  readonly #status: string | undefined;

  constructor({ metadata, spec, status }: Service) {
    const { namespace = '', name = '', labels: { provider } = {} } = metadata ?? {};
    const isServers = provider !== undefined && isControlPlane({ namespace, name });
    this.metadata = { ...identityOf(metadata), ...(isServers && { labels: { provider } }) };
    this.#spec = spec && JSON.stringify(slimSpec(spec));
    const ingress = status?.loadBalancer?.ingress?.map(({ ip, ipMode }) => ({ ip, ipMode })) ?? [];
    this.#status = ingress.length > 0 ? JSON.stringify({ loadBalancer: { ingress } }) : undefined;
  }

  get spec(): Service['spec'] {
    return this.#spec === undefined ? undefined : JSON.parse(this.#spec);
  }

  get status(): Service['status'] {
    return this.#status === undefined ? undefined : JSON.parse(this.#status);
  }

  toJSON(): Service {
    const { metadata, spec, status } = this;
    return { metadata, spec, status } as Service;
  }
}

function slimSpec(spec: NonNullable<Service['spec']>): object {
  const { type, clusterIP, clusterIPs, externalIPs, externalName, publishNotReadyAddresses, ports } = spec;
  const { sessionAffinity, sessionAffinityConfig, internalTrafficPolicy, externalTrafficPolicy } = spec;
  const { loadBalancerSourceRanges, healthCheckNodePort } = spec;
  return {
    ...{ loadBalancerSourceRanges, healthCheckNodePort },
    ...{ type, clusterIP, clusterIPs, externalIPs, externalName, publishNotReadyAddresses },
    ...{ sessionAffinity, sessionAffinityConfig, internalTrafficPolicy, externalTrafficPolicy },
    ports: ports?.map(({ name, protocol, port, nodePort }) => ({ name, protocol, port, nodePort })),
  };
}

export const slimSlice = (slice: EndpointSlice): EndpointSlice => new SlimSlice(slice);

/** Its lists are kept as text, a third of what the objects take, and are read when one of them changes. */
class SlimSlice implements EndpointSlice {
  readonly metadata: ObjectMeta;
  readonly addressType: string | undefined;
  readonly #endpoints: string | undefined;
  readonly #ports: string | undefined;

  constructor({ metadata, addressType, endpoints, ports }: EndpointSlice) {
    const service = metadata?.labels?.[serviceLabels.serviceName];
    this.metadata = {
      ...identityOf(metadata),
      ...(service !== undefined && { labels: { [serviceLabels.serviceName]: service } }),
    };
    this.addressType = addressType;
    this.#endpoints = textOf(endpoints, ({ addresses, conditions, hostname, nodeName }) => ({
      ...{ addresses, conditions, hostname, nodeName },
    }));
    this.#ports = textOf(ports, ({ name, protocol, port }) => ({ name, protocol, port }));
  }

  get endpoints(): NonNullable<EndpointSlice['endpoints']> | undefined {
    return this.#endpoints === undefined ? undefined : JSON.parse(this.#endpoints);
  }

  get ports(): NonNullable<EndpointSlice['ports']> | undefined {
    return this.#ports === undefined ? undefined : JSON.parse(this.#ports);
  }

  toJSON(): EndpointSlice {
    const { metadata, addressType, endpoints, ports } = this;
    return { metadata, addressType, endpoints, ports } as EndpointSlice;
  }
}

const textOf = <T>(list: readonly T[] | undefined, slim: (each: T) => object): string | undefined =>
  list && JSON.stringify(list.map(slim));

function identityOf({ namespace, name, uid, resourceVersion }: ObjectMeta = {}): ObjectMeta {
  return { namespace, name, uid, resourceVersion };
}
