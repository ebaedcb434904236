import type { Endpoint, EndpointPort, EndpointSlice } from '../../api/generated/types.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { packSlices } from './pack.ts';
import type { SlicePlan } from './write.ts';

/** Endpoints of the same ports stand in the same slices. */
export interface EndpointGroup {
  readonly family: 'IPv4' | 'IPv6';
  readonly ports: readonly EndpointPort[];
  readonly wanted: ReadonlyMap<string, Endpoint>;
}

export interface GroupPlanning {
  /** What there shall be. Without endpoints: one empty slice. */
  readonly groups: readonly EndpointGroup[];
  /** What there is. */
  readonly slices: readonly EndpointSlice[];
  /** The same as the key of an endpoint in `wanted`. */
  idOf(endpoint: Endpoint): string;
  readonly mostInSlice: number;
  make(group: EndpointGroup, endpoints: readonly Endpoint[], before?: EndpointSlice): EndpointSlice;
}

/** Few writes: an endpoint stays in the slice where it is (`packSlices`), and a slice that says the same stays. */
export function planGroups(planning: GroupPlanning): SlicePlan<EndpointSlice> {
  const create: EndpointSlice[] = [];
  const update: EndpointSlice[] = [];
  const gone = new Set(planning.slices);
  for (const group of planning.groups) {
    const own = planning.slices.filter((slice) => gone.has(slice) && isOfGroup(slice, group));
    const packed = pack(own, group, planning);
    for (const { slice, items } of packed.kept) {
      gone.delete(slice);
      const next = planning.make(group, items, slice);
      if (!isSame(next, slice)) update.push(next);
    }
    for (const endpoints of packed.fresh) create.push(planning.make(group, endpoints));
  }
  return { create, update, delete: [...gone] };
}

/** Slices are compared by what their ports are; an empty one may get any, and any may be left empty. */
function isOfGroup({ addressType, ports = [], endpoints = [] }: EndpointSlice, group: EndpointGroup): boolean {
  if (addressType !== group.family) return false;
  return equalValues(ports, group.ports) || endpoints.length === 0 || group.wanted.size === 0;
}

interface Packed {
  readonly kept: readonly { readonly slice: EndpointSlice; readonly items: readonly Endpoint[] }[];
  readonly fresh: readonly (readonly Endpoint[])[];
}

/** A group without endpoints keeps one slice, or gets one. */
function pack(slices: readonly EndpointSlice[], { wanted }: EndpointGroup, { idOf, mostInSlice }: GroupPlanning): Packed {
  const itemsOf = ({ endpoints = [] }: EndpointSlice): Endpoint[] => endpoints;
  const { kept: all, fresh } = packSlices(slices, wanted, { itemsOf, idOf, mostItems: mostInSlice });
  const kept = all.filter(({ items }) => items.length > 0);
  if (kept.length > 0 || fresh.length > 0) return { kept, fresh };
  return all.length > 0 ? { kept: all.slice(0, 1), fresh } : { kept, fresh: [[]] };
}

function isSame(next: EndpointSlice, before: EndpointSlice): boolean {
  const parts = ({ metadata, endpoints = [], ports = [] }: EndpointSlice) => [
    metadata?.labels ?? {},
    metadata?.annotations ?? {},
    metadata?.ownerReferences ?? [],
    endpoints,
    ports,
  ];
  return equalValues(parts(next), parts(before));
}
