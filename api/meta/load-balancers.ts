import type { Lease, Service } from '../generated/types.ts';
import { addressNumber } from './address-range.ts';

/** What services may say in `spec.loadBalancerClass` for an address of Berth's own; absent is the same. */
export const loadBalancerClass = 'berth.io/arp';

/** Says whether a service of type LoadBalancer has the address that it should have, and why not. */
export const loadBalancerCondition = 'berth.io/LoadBalancerAddress';

/** On the Leases of addresses, so that nodes follow no others. */
export const loadBalancerLabel = { name: 'berth.io/lease-of', value: 'load-balancer-address' } as const;

/** Whether the controllers say of a Lease that its address is in the pool and a Service's. */
export const hasLoadBalancerLabel = ({ metadata }: Lease): boolean =>
  metadata?.labels?.[loadBalancerLabel.name] === loadBalancerLabel.value;

const leasePrefix = 'lb-';

/** The Lease of an address, in kube-system. The node that holds it answers ARP requests for the address. */
export const leaseNameOf = (address: string): string => `${leasePrefix}${address}`;

/** The address whose Lease has this name; undefined for other Leases. */
export function addressOfLease(name: string): string | undefined {
  const address = name.startsWith(leasePrefix) ? name.slice(leasePrefix.length) : '';
  return addressNumber(address) === undefined ? undefined : address;
}

/** How long the Lease of an address is for: at least, and at most (that of an agent that starts again). */
export const addressLeaseSeconds = { least: 4, most: 16 } as const;

/** So long a holder that says nothing has the address, whatever its Lease says. */
export function addressLeaseMs({ leaseDurationSeconds }: NonNullable<Lease['spec']> = {}): number {
  const { least, most } = addressLeaseSeconds;
  return Math.min(Math.max(leaseDurationSeconds ?? least, least), most) * 1_000;
}

/** Whether a service gets its address from Berth's pool. */
export function isBalancedHere({ spec = {} }: Service): boolean {
  return spec.type === 'LoadBalancer' && (!spec.loadBalancerClass || spec.loadBalancerClass === loadBalancerClass);
}
