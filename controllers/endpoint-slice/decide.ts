import type { Endpoint, EndpointPort, EndpointSlice, ObjectMeta, Pod, Service } from '../../api/generated/types.ts';
import { isHeadless } from '../../api/kinds/service/defaults.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { controllerReference } from '../../api/meta/owner.ts';
import { managers, serviceLabels } from '../../api/meta/service-names.ts';
import type { RangesOf } from '../node-pod-ranges.ts';
import { type Packing, packSlices } from '../slices/pack.ts';
import type { SlicePlan } from '../slices/write.ts';
import { addressOf, endpointOf, type Family, mayServe, portsOf } from './pod-endpoint.ts';

/** Kubernetes' figure: a change of one endpoint writes so many at most. */
export const mostInSlice = 100;

export const serviceKind = { apiVersion: 'v1', kind: 'Service' } as const;

export interface SliceView {
  readonly service: Service;
  /** Those that its selector matches. */
  readonly pods: readonly Pod[];
  /** Those of this service that this controller keeps. */
  readonly slices: readonly EndpointSlice[];
  /** The zone of a node. */
  zoneOf(node: string): string | undefined;
  readonly rangesOf: RangesOf;
}

/** Endpoints of the same ports stand in the same slices. */
interface Group {
  readonly family: Family;
  readonly ports: readonly EndpointPort[];
  readonly wanted: Map<string, Endpoint>;
}

/**
 * Decides with few writes: an endpoint stays in the slice where it is; what is new goes into slices that are written
 * anyway, then into the fullest one that has room for all of it, then into new ones. A service without endpoints has
 * one empty slice without ports for each of its families, as in Kubernetes: readers know that there are none.
 */
export function decideSlices(view: SliceView): SlicePlan<EndpointSlice> {
  const create: EndpointSlice[] = [];
  const update: EndpointSlice[] = [];
  const gone = new Set(view.slices);
  for (const group of groupsOf(view)) {
    const own = view.slices.filter((slice) => gone.has(slice) && isOfGroup(slice, group));
    const packed = pack(own, group);
    for (const { slice, items } of packed.kept) {
      gone.delete(slice);
      const next = sliceOf(view.service, group, items, slice);
      if (!isSame(next, slice)) update.push(next);
    }
    for (const endpoints of packed.fresh) create.push(sliceOf(view.service, group, endpoints));
  }
  return { create, update, delete: [...gone] };
}

/** The groups of the service's pods; for a family without any an empty one, whose ports no pod has given a number. */
function groupsOf({ service, pods, zoneOf, rangesOf }: SliceView): Group[] {
  if (service.spec?.type === 'ExternalName') return [];
  const groups = new Map<string, Group>();
  const families = (service.spec?.ipFamilies?.length ? service.spec.ipFamilies : ['IPv4']) as Family[];
  for (const family of families) {
    let isEmpty = true;
    for (const pod of pods) {
      const address = mayServe(pod, rangesOf) ? addressOf(pod, family) : undefined;
      if (address === undefined) continue;
      isEmpty = false;
      const ports = portsOf(service, pod);
      const key = JSON.stringify([family, ports]);
      const group = groups.get(key) ?? { family, ports, wanted: new Map() };
      group.wanted.set(pod.metadata?.uid ?? '', endpointOf(service, pod, address, zoneOf(pod.spec?.nodeName ?? '')));
      groups.set(key, group);
    }
    if (isEmpty) groups.set(family, { family, ports: [], wanted: new Map() });
  }
  return [...groups.values()];
}

/** Slices are compared by what their ports are; an empty one may get any, and any may be left empty. */
function isOfGroup({ addressType, ports = [], endpoints = [] }: EndpointSlice, group: Group): boolean {
  if (addressType !== group.family) return false;
  return equalValues(ports, group.ports) || endpoints.length === 0 || group.wanted.size === 0;
}

interface Packed {
  readonly kept: readonly { readonly slice: EndpointSlice; readonly items: readonly Endpoint[] }[];
  readonly fresh: readonly (readonly Endpoint[])[];
}

const packing: Packing<EndpointSlice, Endpoint> = {
  itemsOf: ({ endpoints = [] }) => endpoints,
  idOf: ({ targetRef }) => targetRef?.uid ?? '',
  mostItems: mostInSlice,
};

/** A group without endpoints keeps one slice, or gets one. */
function pack(slices: readonly EndpointSlice[], { wanted }: Group): Packed {
  const { kept: all, fresh } = packSlices(slices, wanted, packing);
  const kept = all.filter(({ items }) => items.length > 0);
  if (kept.length > 0 || fresh.length > 0) return { kept, fresh };
  return all.length > 0 ? { kept: all.slice(0, 1), fresh } : { kept, fresh: [[]] };
}

function sliceOf(service: Service, group: Group, endpoints: readonly Endpoint[], before?: EndpointSlice): EndpointSlice {
  return {
    metadata: metadataOf(service, before),
    addressType: group.family,
    endpoints: [...endpoints],
    ports: [...group.ports],
  };
}

/** Labels of the service stand on its slices, but for those that say what a slice is. */
function metadataOf(service: Service, before: EndpointSlice | undefined): ObjectMeta {
  const { name = '', namespace, labels = {} } = service.metadata ?? {};
  const reserved = new Set<string>(Object.values(serviceLabels));
  const copied = Object.fromEntries(Object.entries(labels).filter(([key]) => !reserved.has(key)));
  const { labels: _, ...kept } = before?.metadata ?? {};
  return {
    ...(before ? kept : { generateName: `${name}-`, ...(namespace && { namespace }) }),
    labels: {
      ...copied,
      [serviceLabels.serviceName]: name,
      [serviceLabels.managedBy]: managers.slices,
      ...(isHeadless(service.spec ?? {}) && { [serviceLabels.headless]: '' }),
    },
    ownerReferences: [controllerReference(serviceKind, service)],
  };
}

function isSame(next: EndpointSlice, before: EndpointSlice): boolean {
  const parts = ({ metadata, endpoints = [], ports = [] }: EndpointSlice) => [
    metadata?.labels ?? {},
    metadata?.ownerReferences ?? [],
    endpoints,
    ports,
  ];
  return equalValues(parts(next), parts(before));
}
