import type { Lease } from '../../api/generated/types.ts';
import { addressOfLease, hasLoadBalancerLabel, leaseNameOf, loadBalancerLabel } from '../../api/meta/load-balancers.ts';
import { namespaces } from '../../api/meta/well-known.ts';

/** So long a Lease that its holder neither renews nor gives back is kept: longer than a holder may answer for it. */
export const quietMs = 30_000;

export type LeaseStep =
  | { readonly do: 'create' | 'update'; readonly lease: Lease }
  | { readonly do: 'delete'; readonly lease: Lease };

export interface LeasePlan {
  readonly steps: readonly LeaseStep[];
  /** Whether Leases wait to become quiet. */
  readonly isWaiting: boolean;
}

/**
 * One Lease with the label for each address that a service has. The label of any other is taken off, by which its
 * holder knows that it is to drop the address; it is deleted only when the holder has given it back or is silent: a
 * later Lease of the same address would not know of a holder that is cut off. Pure.
 */
export function decideLeases(leases: readonly Lease[], held: ReadonlySet<string>, quietFor: (lease: Lease) => number): LeasePlan {
  const steps: LeaseStep[] = [];
  const found = new Set<string>();
  let isWaiting = false;
  for (const lease of leases) {
    const { namespace, name = '' } = lease.metadata ?? {};
    const address = namespace === namespaces.system ? addressOfLease(name) : undefined;
    if (address === undefined) continue;
    found.add(address);
    if (held.has(address)) {
      if (!hasLoadBalancerLabel(lease)) steps.push({ do: 'update', lease: labelled(lease, loadBalancerLabel.value) });
    } else if (!lease.spec?.holderIdentity || quietFor(lease) >= quietMs) steps.push({ do: 'delete', lease });
    else {
      isWaiting = true;
      if (hasLoadBalancerLabel(lease)) steps.push({ do: 'update', lease: labelled(lease, undefined) });
    }
  }
  for (const address of held) if (!found.has(address)) steps.push({ do: 'create', lease: newLease(address) });
  return { steps, isWaiting };
}

function labelled(lease: Lease, value: string | undefined): Lease {
  const { [loadBalancerLabel.name]: _, ...others } = lease.metadata?.labels ?? {};
  const labels = value === undefined ? others : { ...others, [loadBalancerLabel.name]: value };
  return { ...lease, metadata: { ...lease.metadata, labels } };
}

const newLease = (address: string): Lease =>
  labelled({ metadata: { namespace: namespaces.system, name: leaseNameOf(address) }, spec: {} }, loadBalancerLabel.value);
