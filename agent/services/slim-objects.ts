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
    this.metadata = identityOf(metadata, isServers ? { provider } : undefined);
    this.#spec = spec && textOf(slimSpec(spec));
    const ingress = status?.loadBalancer?.ingress?.map(({ ip, ipMode }) => ({ ip, ipMode })) ?? [];
    this.#status = ingress.length > 0 ? textOf({ loadBalancer: { ingress } }) : undefined;
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

/** Without what means the same when it is absent (`unless`), which is half of the usual spec. */
function slimSpec(spec: NonNullable<Service['spec']>): object {
  const { type, clusterIP, clusterIPs, externalIPs, externalName, publishNotReadyAddresses, ports } = spec;
  const { sessionAffinity, sessionAffinityConfig, internalTrafficPolicy, externalTrafficPolicy } = spec;
  const { loadBalancerSourceRanges, healthCheckNodePort } = spec;
  const hasOne = clusterIP !== undefined && clusterIPs?.length === 1 && clusterIPs[0] === clusterIP;
  return {
    ...{ loadBalancerSourceRanges, healthCheckNodePort },
    ...{ type: unless('ClusterIP', type), clusterIP, clusterIPs: hasOne ? undefined : clusterIPs },
    ...{ externalIPs, externalName, publishNotReadyAddresses: publishNotReadyAddresses || undefined },
    ...{ sessionAffinity: unless('None', sessionAffinity), sessionAffinityConfig },
    internalTrafficPolicy: unless('Cluster', internalTrafficPolicy),
    externalTrafficPolicy: unless('Cluster', externalTrafficPolicy),
    ports: ports?.map(({ name, protocol, port, nodePort }) => ({ name, protocol: unless('TCP', protocol), port, nodePort })),
  };
}

const unless = <T>(usual: T, value: T | undefined): T | undefined => (value === usual ? undefined : value);

export const slimSlice = (slice: EndpointSlice): EndpointSlice => new SlimSlice(slice);

/** Its lists are kept as text, a third of what the objects take, and are read when one of them changes. */
class SlimSlice implements EndpointSlice {
  readonly metadata: ObjectMeta;
  readonly addressType: string | undefined;
  readonly #endpoints: string | undefined;
  readonly #ports: string | undefined;

  constructor({ metadata, addressType, endpoints, ports }: EndpointSlice) {
    const service = metadata?.labels?.[serviceLabels.serviceName];
    this.metadata = identityOf(metadata, service === undefined ? undefined : { [serviceLabels.serviceName]: service });
    this.addressType = addressType;
    this.#endpoints = endpoints && textOf(endpoints.map(slimEndpoint));
    this.#ports = ports && textOf(ports.map(({ name, protocol, port }) => ({ name, protocol: unless('TCP', protocol), port })));
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

/** Conditions that say no more than "ready", as those of most endpoints do, mean the same when they are absent. */
function slimEndpoint({ addresses, conditions = {}, hostname, nodeName }: SliceEndpoint): object {
  const { ready = true, serving = ready, terminating = false } = conditions;
  return { addresses, conditions: ready && serving && !terminating ? undefined : conditions, hostname, nodeName };
}

type SliceEndpoint = NonNullable<EndpointSlice['endpoints']>[number];

/** JSON in one piece: V8 keeps what it puts together in two, even after it was read. */
const textOf = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString();

/** With labels in the same literal: V8 keeps what is added to an object apart from it. */
function identityOf({ namespace, name, uid, resourceVersion }: ObjectMeta = {}, labels?: ObjectMeta['labels']): ObjectMeta {
  return { namespace, name, uid, resourceVersion, labels };
}
