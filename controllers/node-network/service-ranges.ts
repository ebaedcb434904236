import type { NodeNetwork, Service } from '../../api/generated/types.ts';
import { type AddressRange, addressNumber, isInRange, parseAddressRange } from '../../api/meta/address-range.ts';
import { parsed } from './pod-ranges.ts';

/** The most ranges besides the server's: each NodeNetwork lists all of them. */
const mostOthers = 8;

/** The cluster addresses of a Service that are not in the range. */
export function addressesOutside(range: AddressRange, { spec }: Service): number[] {
  return (spec?.clusterIPs ?? []).flatMap((text) => {
    const address = addressNumber(text);
    return address === undefined || isInRange(range, address) ? [] : [address];
  });
}

/**
 * Where Services may have addresses: the server's range, and of those that NodeNetworks have from before it was changed
 * each in which a Service still has one. Without these ranges nodes had no route to such Services. Pure.
 */
export function serviceRanges(text: string, services: Iterable<Service>, networks: Iterable<NodeNetwork>): string[] {
  const range = parseAddressRange(text);
  const before = new Map<string, AddressRange>();
  for (const { serviceCIDRs = [] } of networks)
    for (const other of serviceCIDRs) for (const each of other === text ? [] : parsed(other)) before.set(other, each);
  if (before.size === 0) return [text];
  const used = new Set<string>();
  for (const service of services)
    for (const address of addressesOutside(range, service))
      for (const other of before.values()) if (isInRange(other, address)) used.add(other.text);
  return [text, ...[...used].toSorted().slice(0, mostOthers)];
}
