import type { Pod } from '../../api/generated/types.ts';
import { type NamedPort, namedPortsOf } from '../../api/kinds/pod/named-ports.ts';
import type { Labels } from '../../api/meta/labels.ts';

/** What policies go by of a pod. */
export interface PodFacts {
  readonly namespace: string;
  readonly labels: Labels;
  readonly ports: readonly NamedPort[];
}

/** A pod as one end of a connection. */
export interface PolicyPod extends PodFacts {
  readonly namespaceLabels: Labels;
  /** IPv4; others are passed over. */
  readonly addresses: readonly string[];
}

export type Direction = 'ingress' | 'egress';

export const factsOf = (pod: Pod): PodFacts => ({
  namespace: pod.metadata?.namespace ?? '',
  labels: pod.metadata?.labels ?? {},
  ports: namedPortsOf(pod),
});
