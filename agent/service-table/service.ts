// What the table needs to know of a Service: projections that the agent computes from Services and EndpointSlices.

export type Protocol = 'TCP' | 'UDP';

export type TrafficPolicy = 'Cluster' | 'Local';

/** One address behind a port of a Service. */
export interface TableEndpoint {
  /** IPv4; others are passed over. */
  readonly address: string;
  readonly port: number;
  readonly ready: boolean;
  /** Answers, also while it terminates. */
  readonly serving: boolean;
  readonly terminating: boolean;
  /** The node that it runs on; empty where none is known. */
  readonly node: string;
}

export interface TablePort {
  readonly protocol: Protocol;
  readonly port: number;
  /** Undefined where the Service has none. */
  readonly nodePort?: number | undefined;
  readonly endpoints: readonly TableEndpoint[];
}

/** One Service; IPv4 addresses only, others are passed over. A headless Service has no addresses and needs no entry. */
export interface TableService {
  readonly clusterAddresses: readonly string[];
  /** `spec.externalIPs`. */
  readonly externalAddresses: readonly string[];
  readonly loadBalancerAddresses: readonly string[];
  /** `spec.loadBalancerSourceRanges`: who may use them. Undefined: all. What is no IPv4 range lets nothing in. */
  readonly sourceRanges?: readonly string[] | undefined;
  /** `spec.healthCheckNodePort`; undefined where the Service has none. */
  readonly healthPort?: number | undefined;
  /** The label of this name; only the control plane's Services have it here. */
  readonly provider?: string | undefined;
  readonly ports: readonly TablePort[];
  /** Affinity of clients by address for this many seconds; undefined for none. */
  readonly affinitySeconds?: number | undefined;
  readonly internalPolicy: TrafficPolicy;
  readonly externalPolicy: TrafficPolicy;
  readonly publishNotReadyAddresses: boolean;
  /** The agent itself listens on its node ports, so that no other program does. */
  readonly isHeldByAgent?: boolean | undefined;
}

/** A port of the node that another program listens on. */
export interface HeldPort {
  /** Undefined: on all addresses. */
  readonly address?: string | undefined;
  readonly protocol: Protocol;
  readonly port: number;
}

export const isPort = (port: number): boolean => Number.isInteger(port) && port >= 1 && port <= 65_535;
