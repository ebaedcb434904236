import type { Endpoint, EndpointSlice, ObjectMeta, Pod, Service } from '../../api/generated/types.ts';
import { isHeadless } from '../../api/kinds/service/defaults.ts';
import { controllerReference } from '../../api/meta/owner.ts';
import { managers, serviceLabels } from '../../api/meta/service-names.ts';
import type { RangesOf } from '../node-pod-ranges.ts';
import { type EndpointGroup, planGroups } from '../slices/plan-groups.ts';
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

/**
 * Decides with few writes: an endpoint stays in the slice where it is; what is new goes into slices that are written
 * anyway, then into the fullest one that has room for all of it, then into new ones. A service without endpoints has
 * one empty slice without ports for each of its families, as in Kubernetes: readers know that there are none.
 */
export function decideSlices(view: SliceView): SlicePlan<EndpointSlice> {
  return planGroups({
    groups: groupsOf(view),
    slices: view.slices,
    idOf: ({ targetRef }) => targetRef?.uid ?? '',
    mostInSlice,
    make: (group, endpoints, before) => sliceOf(view.service, group, endpoints, before),
  });
}

/** The groups of the service's pods; for a family without any an empty one, whose ports no pod has given a number. */
function groupsOf({ service, pods, zoneOf, rangesOf }: SliceView): EndpointGroup[] {
  if (service.spec?.type === 'ExternalName') return [];
  const groups = new Map<string, EndpointGroup & { wanted: Map<string, Endpoint> }>();
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

function sliceOf(service: Service, group: EndpointGroup, endpoints: readonly Endpoint[], before?: EndpointSlice): EndpointSlice {
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
