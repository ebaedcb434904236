import type { EndpointAddress, EndpointPort, EndpointSubset, Endpoints, Pod, Service } from '../../api/generated/types.ts';
import { isHeadless } from '../../api/kinds/service/defaults.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { managers, overCapacityAnnotation, serviceLabels } from '../../api/meta/service-names.ts';
import { addressOf, endpointOf, type Family, hostnameOf, mayServe, portsOf, targetOf } from '../endpoint-slice/pod-endpoint.ts';
import type { RangesOf } from '../node-pod-ranges.ts';

/** Kubernetes' figure; EndpointSlices hold any number. */
export const mostAddresses = 1000;

interface Place {
  readonly address: EndpointAddress;
  readonly isReady: boolean;
  readonly ports: readonly EndpointPort[];
}

export interface EndpointsView {
  readonly service: Service;
  /** Those that its selector matches. */
  readonly pods: readonly Pod[];
  /** As they are stored. */
  readonly before: Endpoints | undefined;
  readonly rangesOf: RangesOf;
}

/**
 * The Endpoints that a service should have; undefined when those that there are say the same. Pods on their way out
 * are left out, unless the service publishes what is not ready.
 */
export function decideEndpoints({ service, pods, before, rangesOf }: EndpointsView): Endpoints | undefined {
  const places = placesOf(service, pods, rangesOf);
  const kept = mostUseful(places);
  const next: Endpoints = {
    metadata: metadataOf(service, before, kept.length < places.length),
    subsets: subsetsOf(kept),
  };
  const parts = ({ metadata, subsets = [] }: Endpoints) => [metadata?.labels ?? {}, metadata?.annotations ?? {}, subsets];
  return before && equalValues(parts(next), parts(before)) ? undefined : next;
}

function placesOf(service: Service, pods: readonly Pod[], rangesOf: RangesOf): Place[] {
  if (service.spec?.type === 'ExternalName') return [];
  const family = (service.spec?.ipFamilies?.[0] ?? 'IPv4') as Family;
  return pods.flatMap((pod) => {
    const ip = mayServe(pod, rangesOf) ? addressOf(pod, family) : undefined;
    if (ip === undefined) return [];
    const { conditions } = endpointOf(service, pod, ip, undefined);
    if (conditions?.terminating && !service.spec?.publishNotReadyAddresses) return [];
    const ports = portsOf(service, pod);
    // An address without one of the ports that the service has would stand for nothing.
    if (ports.length === 0 && (service.spec?.ports ?? []).length > 0) return [];
    const hostname = hostnameOf(service, pod);
    const { nodeName } = pod.spec ?? {};
    const address = { ip, ...(hostname && { hostname }), ...(nodeName && { nodeName }), targetRef: targetOf(pod) };
    return [{ address, isReady: conditions?.ready === true, ports }];
  });
}

/** At most 1000, those that serve first. */
function mostUseful(places: readonly Place[]): readonly Place[] {
  if (places.length <= mostAddresses) return places;
  return [...places.filter(({ isReady }) => isReady), ...places.filter(({ isReady }) => !isReady)].slice(0, mostAddresses);
}

/** Addresses of the same ports stand together, in order, so that equal places give equal subsets. */
function subsetsOf(places: readonly Place[]): EndpointSubset[] {
  const groups = new Map<string, { ports: readonly EndpointPort[]; places: Place[] }>();
  for (const place of places) {
    const key = JSON.stringify(place.ports);
    const group = groups.get(key) ?? { ports: place.ports, places: [] };
    group.places.push(place);
    groups.set(key, group);
  }
  const keys = [...groups.keys()].toSorted();
  return keys.map((key) => {
    const { ports, places: own } = groups.get(key)!;
    const of = (isReady: boolean): EndpointAddress[] =>
      own
        .filter((place) => place.isReady === isReady)
        .map(({ address }) => address)
        .toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
    const [addresses, notReadyAddresses] = [of(true), of(false)];
    return {
      ...(addresses.length > 0 && { addresses }),
      ...(notReadyAddresses.length > 0 && { notReadyAddresses }),
      ...(ports.length > 0 && { ports: ports.map(({ name, ...port }) => ({ ...(name && { name }), ...port })) }),
    };
  });
}

const orderOf = ({ ip = '', targetRef }: EndpointAddress): string => `${ip} ${targetRef?.uid ?? ''}`;

function metadataOf(service: Service, before: Endpoints | undefined, isTruncated: boolean): NonNullable<Endpoints['metadata']> {
  const { name = '', namespace, labels = {} } = service.metadata ?? {};
  const reserved: ReadonlySet<string> = new Set([serviceLabels.headless, serviceLabels.endpointsManagedBy]);
  const { labels: _labels, annotations: { [overCapacityAnnotation]: _over, ...others } = {}, ...kept } = before?.metadata ?? {};
  const annotations = { ...others, ...(isTruncated && { [overCapacityAnnotation]: 'truncated' }) };
  return {
    ...(before ? kept : { name, ...(namespace && { namespace }) }),
    labels: {
      ...Object.fromEntries(Object.entries(labels).filter(([key]) => !reserved.has(key))),
      [serviceLabels.endpointsManagedBy]: managers.endpoints,
      ...(isHeadless(service.spec ?? {}) && { [serviceLabels.headless]: '' }),
    },
    ...(Object.keys(annotations).length > 0 && { annotations }),
  };
}
