import type { Namespace, Node, Pod, PodSpec, PodStatus } from '../../api/generated/types.ts';

// Namespaces, nodes and pods with addresses, for tests.

export interface AddressedPod {
  readonly namespace?: string;
  readonly labels?: Record<string, string>;
  readonly spec?: PodSpec;
  readonly status?: PodStatus;
}

/** A pod "p7" of node n1, with the address 10.42.0.7. */
export function podOf(name: string, { namespace = 'shop', labels = { app: 'web' }, spec, status }: AddressedPod = {}): Pod {
  const number = Number(name.replace(/\D/g, ''));
  return {
    metadata: { name, namespace, uid: `uid-${name}`, labels },
    spec: { nodeName: 'n1', ...spec },
    status: { phase: 'Running', podIP: `10.42.${Math.floor(number / 250)}.${number % 250}`, ...status },
  };
}

export const namespaceOf = (name = 'shop', labels: Record<string, string> = { team: 'a' }): Namespace => ({
  metadata: { name, labels },
});

/** A node with 1,024 addresses of pods. */
export const nodeOf = (name: string, range = '10.42.0.0/22'): Node => ({
  metadata: { name },
  spec: { podCIDR: range, podCIDRs: [range] },
});
