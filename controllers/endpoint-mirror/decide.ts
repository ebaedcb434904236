import { isIP } from 'node:net';
import type { Endpoint, EndpointAddress, EndpointSlice, EndpointSubset, Endpoints, Service } from '../../api/generated/types.ts';
import { controllerReference } from '../../api/meta/owner.ts';
import { managers, serviceLabels } from '../../api/meta/service-names.ts';
import { annotations } from '../../api/meta/well-known.ts';
import { hasSelector } from '../service-pods.ts';
import { type EndpointGroup, planGroups } from '../slices/plan-groups.ts';
import type { SlicePlan } from '../slices/write.ts';

/** Kubernetes' figure: of a subset with more addresses the others are left out, first those that are not ready. */
export const mostOfSubset = 1000;
/** What a slice may hold. */
const mostInSlice = 1000;

/** Endpoints with it are a lock of programs that elect a leader, and change every few seconds. */
const leaderAnnotation = 'control-plane.alpha.kubernetes.io/leader';
const notCopied = new Set([annotations.lastApplied, 'endpoints.kubernetes.io/last-change-trigger-time']);

export interface MirrorView {
  readonly service: Service | undefined;
  /** Those of the service's name. */
  readonly endpoints: Endpoints | undefined;
  /** Those that this controller keeps for that name. */
  readonly slices: readonly EndpointSlice[];
}

/**
 * The slices that say what Endpoints say that a user, or a program, writes for a service without a selector: what
 * carries services reads slices alone. The slices go with the Endpoints, the service, or when it gets a selector.
 */
export function decideMirror({ service, endpoints, slices }: MirrorView): SlicePlan<EndpointSlice> {
  const groups = service && endpoints && isMirrored(endpoints, service) ? groupsOf(endpoints) : [];
  return planGroups({
    groups,
    slices,
    idOf: ({ addresses = [] }) => addresses[0] ?? '',
    mostInSlice,
    make: (group, items, before) => sliceOf(endpoints ?? {}, group, items, before),
  });
}

function isMirrored({ metadata }: Endpoints, service: Service): boolean {
  if (metadata?.deletionTimestamp || service.metadata?.deletionTimestamp || hasSelector(service)) return false;
  const { labels = {}, annotations: notes = {} } = metadata ?? {};
  // Those that the endpoints controller keeps stay for a moment when a selector is taken away.
  if (labels[serviceLabels.endpointsManagedBy] === managers.endpoints) return false;
  return labels[serviceLabels.skipMirror] !== 'true' && !Object.hasOwn(notes, leaderAnnotation);
}

function groupsOf({ subsets = [] }: Endpoints): EndpointGroup[] {
  const groups = new Map<string, EndpointGroup & { wanted: Map<string, Endpoint> }>();
  for (const subset of subsets) {
    const ports = (subset.ports ?? []).map(({ name = '', protocol = 'TCP', ...port }) => ({ name, protocol, ...port }));
    for (const [address, ready] of addressesOf(subset)) {
      const version = isIP(address.ip ?? '');
      if (version === 0) continue;
      const family = version === 6 ? 'IPv6' : 'IPv4';
      const key = JSON.stringify([family, ports]);
      const group = groups.get(key) ?? { family, ports, wanted: new Map() };
      groups.set(key, group);
      const known = group.wanted.get(address.ip ?? '');
      // What one of several subsets calls ready is.
      if (!known?.conditions?.ready) group.wanted.set(address.ip ?? '', endpointOf(address, ready));
    }
  }
  return [...groups.values()];
}

function addressesOf({ addresses = [], notReadyAddresses = [] }: EndpointSubset): [EndpointAddress, ready: boolean][] {
  const all = [
    ...addresses.map((each): [EndpointAddress, boolean] => [each, true]),
    ...notReadyAddresses.map((each): [EndpointAddress, boolean] => [each, false]),
  ];
  return all.slice(0, mostOfSubset);
}

function endpointOf({ ip = '', hostname, nodeName, targetRef }: EndpointAddress, ready: boolean): Endpoint {
  return {
    addresses: [ip],
    conditions: { ready },
    ...(hostname && { hostname }),
    ...(nodeName && { nodeName }),
    ...(targetRef && { targetRef }),
  };
}

function sliceOf(from: Endpoints, group: EndpointGroup, items: readonly Endpoint[], before?: EndpointSlice): EndpointSlice {
  const { name = '', namespace, labels = {}, annotations: notes = {} } = from.metadata ?? {};
  const { annotations: _, ...kept } = before?.metadata ?? {};
  const copied = Object.entries(notes).filter(([key]) => !notCopied.has(key));
  return {
    metadata: {
      ...(before ? kept : { generateName: `${name}-`, ...(namespace && { namespace }) }),
      labels: { ...labels, [serviceLabels.serviceName]: name, [serviceLabels.managedBy]: managers.mirroredSlices },
      ...(copied.length > 0 && { annotations: Object.fromEntries(copied) }),
      ownerReferences: [controllerReference({ apiVersion: 'v1', kind: 'Endpoints' }, from)],
    },
    addressType: group.family,
    endpoints: [...items],
    ports: [...group.ports],
  };
}
