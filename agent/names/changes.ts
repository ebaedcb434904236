/** What the resolver needs of a Service. Names and values are those of its spec. */
export interface ServiceView {
  readonly namespace: string;
  readonly name: string;
  readonly type: 'ClusterIP' | 'NodePort' | 'LoadBalancer' | 'ExternalName';
  /** ['None']: headless. Addresses that are none are passed over, as are those not given yet. */
  readonly clusterIPs: readonly string[];
  readonly ports: readonly PortView[];
  readonly externalName?: string;
  readonly publishNotReadyAddresses?: boolean;
}

/** One without a name has no SRV record. */
export interface PortView {
  readonly name?: string;
  readonly protocol: string;
  readonly port: number;
}

/** What the resolver needs of an EndpointSlice. */
export interface SliceView {
  readonly namespace: string;
  readonly name: string;
  /** Its label kubernetes.io/service-name. */
  readonly serviceName: string;
  readonly endpoints: readonly EndpointView[];
  readonly ports: readonly PortView[];
}

export interface EndpointView {
  readonly addresses: readonly string[];
  readonly hostname?: string;
  readonly ready: boolean;
}

/** A pod with an address of its own: the namespace whose search path its queries follow. */
export interface PodView {
  readonly namespace: string;
  readonly name: string;
  readonly addresses: readonly string[];
}

interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

/** Everything there is, after a list: what is not in it is gone. */
export interface NamesSnapshot {
  readonly kind: 'snapshot';
  readonly services: readonly ServiceView[];
  readonly slices: readonly SliceView[];
  readonly pods: readonly PodView[];
}

/** One step of the feed. An object that is set replaces the one of its namespace and name. */
export type NamesChange =
  | NamesSnapshot
  | { readonly kind: 'set-service'; readonly service: ServiceView }
  | { readonly kind: 'delete-service'; readonly service: ObjectName }
  | { readonly kind: 'set-slice'; readonly slice: SliceView }
  | { readonly kind: 'delete-slice'; readonly slice: ObjectName }
  | { readonly kind: 'set-pod'; readonly pod: PodView }
  | { readonly kind: 'delete-pod'; readonly pod: ObjectName };
