import type { Namespace, Pod, PodAddress, PodAddressSlice } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { namedPortsOf } from '../../api/kinds/pod/named-ports.ts';
import { mostNamedPorts, mostPodsInSlice } from '../../api/kinds/pod-address-slice/validate.ts';
import { equalValues } from '../../api/meta/equal.ts';
import type { IpBlock } from '../../api/meta/ip-block.ts';
import { addressesOf } from '../endpoint-slice/pod-endpoint.ts';
import { isInRanges } from '../node-pod-ranges.ts';
import { type Packing, packSlices } from '../slices/pack.ts';
import type { SlicePlan } from '../slices/write.ts';

/** What is known of one namespace. */
export interface NamespaceView {
  /** Undefined: it is gone. */
  readonly namespace: Namespace | undefined;
  /** Whether there is a NetworkPolicy anywhere in the cluster: it may select these pods as peers. */
  readonly isNeeded: boolean;
  /** All of the namespace; outlines suffice. */
  readonly pods: readonly Pod[];
  /** All of the namespace, whoever wrote them: nodes believe each of them. */
  readonly slices: readonly PodAddressSlice[];
  /** The ranges of pods' addresses of a node. */
  rangesOf(node: string): readonly IpBlock[];
}

/** 100 pods have far less, unless their labels are unusually many. Well below what the server takes as one object. */
const mostLabelCharacters = 256 * 1024;

const packing: Packing<PodAddressSlice, PodAddress> = {
  itemsOf: ({ pods = [] }) => pods,
  idOf: ({ uid = '' }) => uid,
  mostItems: mostPodsInSlice,
  weight: { of: lengthOfLabels, most: mostLabelCharacters },
};

/** The slices of a namespace have its labels, and all its pods that have an address of their own. Pure. */
export function decidePodAddressSlices(view: NamespaceView): SlicePlan<PodAddressSlice> {
  const { namespace, slices } = view;
  const { kept, fresh } = packSlices(slices, wantedPods(view), packing);
  const plan = kept.map(({ slice, items }) => ({ slice, items, next: sliceOf(namespace, items, slice) }));
  const held = plan.filter(({ items }) => items.length > 0);
  return {
    update: held.flatMap(({ slice, next }) => (isSame(slice, next) ? [] : [next])),
    // The server refuses new objects in a namespace that is on its way out.
    create: namespace?.metadata?.deletionTimestamp ? [] : fresh.map((items) => sliceOf(namespace, items)),
    delete: plan.flatMap(({ slice, items }) => (items.length === 0 ? [slice] : [])),
  };
}

/** By uid. */
function wantedPods({ namespace, isNeeded, pods, rangesOf }: NamespaceView): Map<string, PodAddress> {
  const wanted = new Map<string, PodAddress>();
  if (!namespace || !isNeeded) return wanted;
  for (const pod of pods) {
    const address = podAddressOf(pod, rangesOf);
    if (address) wanted.set(address.uid ?? '', address);
  }
  return wanted;
}

/**
 * What nodes need to know of a pod; undefined where it has ended or has no address of its own. Only addresses in a
 * range of its node are its own: those of an engine's network are the same on several hosts, and an agent cannot claim
 * the address of another node's pod.
 */
export function podAddressOf(pod: Pod, rangesOf: NamespaceView['rangesOf']): PodAddress | undefined {
  const { metadata = {}, spec = {} } = pod;
  const { nodeName } = spec;
  if (!nodeName || spec.hostNetwork || isFinished(pod)) return undefined;
  const ranges = rangesOf(nodeName);
  const podIPs = addressesOf(pod).filter((text) => isInRanges(text, ranges));
  if (podIPs.length === 0) return undefined;
  const { name = '', uid = '', labels = {} } = metadata;
  const ports = namedPortsOf(pod).slice(0, mostNamedPorts);
  return {
    ...{ name, uid, podIPs, nodeName },
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(ports.length > 0 && { ports }),
  };
}

function sliceOf(namespace: Namespace | undefined, pods: readonly PodAddress[], before?: PodAddressSlice): PodAddressSlice {
  const { name, labels = {} } = namespace?.metadata ?? {};
  return {
    metadata: before?.metadata ?? { generateName: 'pods-', ...(name && { namespace: name }) },
    ...(Object.keys(labels).length > 0 && { namespaceLabels: labels }),
    pods: [...pods],
  };
}

function isSame(a: PodAddressSlice, b: PodAddressSlice): boolean {
  return equalValues([a.namespaceLabels, a.pods], [b.namespaceLabels, b.pods]);
}

function lengthOfLabels({ labels = {} }: PodAddress): number {
  let length = 0;
  for (const key of Object.keys(labels)) length += key.length + labels[key]!.length;
  return length;
}
