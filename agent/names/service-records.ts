import { addressBytes, dashedAddress, reverseKey } from './address-names.ts';
import type { EndpointView, PortView, ServiceView, SliceView } from './changes.ts';
import { encodeName, flat, maxNameLength, record, types, word } from './wire.ts';

/** Kubernetes' DNS says "some seconds"; this is CoreDNS' value. */
export const ttlSeconds = 5;

/** Records of one type by the key of their owner. */
export interface OwnedRecord {
  readonly owner: string;
  readonly type: number;
  readonly record: string;
}

/** What one Service brings into the zone. */
export interface ServiceRecords {
  readonly records: readonly OwnedRecord[];
  /** The service's own name, which is taken even while it has no records. */
  readonly owner: string;
}

/**
 * The records of a Service without cluster addresses, which is headless or an ExternalName, with its slices, as
 * Kubernetes' DNS-based service discovery has them. Pure. Undefined for a service whose name the wire cannot hold;
 * endpoints, ports and addresses of that kind are left out. `zone` is the key of the cluster's domain.
 */
export function computeServiceRecords(
  service: ServiceView,
  slices: Iterable<SliceView>,
  zone: string,
): ServiceRecords | undefined {
  const owner = below(`${service.name}.${service.namespace}.svc`, zone);
  if (owner === undefined) return undefined;
  if (service.type === 'ExternalName') return { owner, records: externalRecords(owner, service.externalName) };
  return { owner, records: headlessRecords(owner, service, slices) };
}

/** The key of a name below the zone. */
export function below(text: string, zone: string): string | undefined {
  const key = encodeName(text)?.slice(0, -1).concat(zone);
  return key !== undefined && key.length <= maxNameLength ? flat(key) : undefined;
}

function externalRecords(owner: string, externalName = ''): OwnedRecord[] {
  const target = encodeName(externalName);
  if (target === undefined || target.length === 1) return [];
  return [{ owner, type: types.cname, record: record(types.cname, ttlSeconds, target) }];
}

function headlessRecords(owner: string, service: ServiceView, slices: Iterable<SliceView>): OwnedRecord[] {
  const found = new Map<string, OwnedRecord>();
  const add = (list: readonly OwnedRecord[]): void => {
    for (const each of list) found.set(`${each.type} ${each.owner} ${each.record}`, each);
  };
  for (const { endpoints, ports } of slices) {
    for (const endpoint of endpoints) {
      if (!endpoint.ready && service.publishNotReadyAddresses !== true) continue;
      add(endpointRecords(owner, endpoint, ports));
    }
  }
  return [...found.values()];
}

function endpointRecords(service: string, { addresses, hostname }: EndpointView, ports: readonly PortView[]): OwnedRecord[] {
  return addresses.flatMap((text) => {
    const address = addressBytes(text);
    if (address === undefined) return [];
    const owner = below(hostname ?? dashedAddress(text), service);
    if (owner === undefined) return [addressRecord(service, address)];
    return [
      addressRecord(service, address),
      addressRecord(owner, address),
      pointerRecord(address, owner),
      ...ports.flatMap((port) => srvRecord(service, port, owner)),
    ];
  });
}

export function addressRecord(owner: string, bytes: string): OwnedRecord {
  const type = bytes.length === 4 ? types.a : types.aaaa;
  return { owner, type, record: record(type, ttlSeconds, bytes) };
}

export function pointerRecord(bytes: string, target: string): OwnedRecord {
  return { owner: reverseKey(bytes), type: types.ptr, record: record(types.ptr, ttlSeconds, target) };
}

/** Priority 0, and every target with the same weight. None for a port without a name. */
export function srvRecord(service: string, { name, protocol, port }: PortView, target: string): OwnedRecord[] {
  const owner = name ? below(`_${name}._${protocol}`, service) : undefined;
  if (owner === undefined) return [];
  return [{ owner, type: types.srv, record: record(types.srv, ttlSeconds, word(0) + word(100) + word(port) + target) }];
}
