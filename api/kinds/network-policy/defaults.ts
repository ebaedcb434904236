import type { NetworkPolicy } from '../../generated/types.ts';

/** The directions of policyTypes. */
export const directions = { ingress: 'Ingress', egress: 'Egress' } as const;

/** Kubernetes' defaults. A policy without a spec isolates all pods of its namespace from connections to them. */
export function defaultNetworkPolicy(policy: NetworkPolicy): void {
  policy.spec ??= {};
  const { spec } = policy;
  spec.podSelector ??= {};
  if (!spec.policyTypes?.length)
    spec.policyTypes = spec.egress?.length ? [directions.ingress, directions.egress] : [directions.ingress];
  for (const { ports = [] } of [...(spec.ingress ?? []), ...(spec.egress ?? [])])
    for (const port of ports) port.protocol ??= 'TCP';
}
