import type { Container, Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass } from '../../api/generated/types.ts';
import { quantityMilli, quantityValue } from '../../api/meta/quantity.ts';

/**
 * What there is, as the API tells it, and when it came. Nothing is added up:
 * the reference looks at everything each time it is asked.
 */
export interface World {
  now: number;
  readonly nodes: Map<string, KnownNode>;
  /** Pods on nodes by uid, those among them that are only placed. */
  readonly pods: Map<string, PlacedPod>;
  /** Pods by uid for which room is being made; none of them is among `pods`. */
  readonly nominated: Map<string, PlacedPod>;
  /** Labels by name. */
  readonly namespaces: Map<string, Record<string, string>>;
  /** By namespace/name, and by name. */
  readonly claims: Map<string, PersistentVolumeClaim>;
  readonly volumes: Map<string, PersistentVolume>;
  readonly classes: Map<string, StorageClass>;
  /** What claims are to get by placements that are not written yet. */
  readonly promised: { readonly claimUid: string; readonly nodeName: string; readonly volume?: string | undefined }[];
}

export interface KnownNode {
  readonly node: Node;
  /** When its present reading came. */
  readonly readingArrivedAt: number;
}

export interface PlacedPod {
  readonly pod: Pod;
  readonly nodeName: string;
  readonly placedAt: number;
}

export function createWorld(now: number): World {
  const storage = { claims: new Map(), volumes: new Map(), classes: new Map(), promised: [] };
  return { now, nodes: new Map(), pods: new Map(), nominated: new Map(), namespaces: new Map(), ...storage };
}

/**
 * The world with those pods on the node, or on all nodes, for which room is being made there,
 * as far as the pod looks out for them.
 */
export function withNominated(world: World, { spec }: Pod, node?: Node): World {
  const beside = [...world.nominated].filter(
    ([, { pod, nodeName }]) => (!node || nodeName === nameOf(node)) && (pod.spec?.priority ?? 0) >= (spec?.priority ?? 0),
  );
  return beside.length === 0 ? world : { ...world, pods: new Map([...world.pods, ...beside]) };
}

export const nameOf = ({ metadata }: Node): string => metadata?.name ?? '';
export const labelOf = (node: Node, key: string): string | undefined => node.metadata?.labels?.[key];
export const nodesOf = (world: World): Node[] => [...world.nodes.values()].map(({ node }) => node);

export function placedOn(world: World, node: Node): PlacedPod[] {
  return [...world.pods.values()].filter(({ nodeName }) => nodeName === nameOf(node));
}

export const podsOn = (world: World, node: Node): Pod[] => placedOn(world, node).map(({ pod }) => pod);

/** All pods on nodes that are there, with their node. */
export function podsWithNodes(world: World): { readonly pod: Pod; readonly node: Node }[] {
  return nodesOf(world).flatMap((node) => podsOn(world, node).map((pod) => ({ pod, node })));
}

/** Pods of the tests have one container, or several. */
export const containersOf = ({ spec }: Pod): readonly Container[] => spec?.containers ?? [];

export function requested(pod: Pod, resource: string): number {
  return containersOf(pod).reduce((sum, { resources }) => sum + amount(resource, resources?.requests?.[resource]), 0);
}

/** As Kubernetes compares nodes: a pod without requests counts as 100m and 200Mi. */
export function assumed(pod: Pod, resource: 'cpu' | 'memory'): number {
  const least = resource === 'cpu' ? 100 : 200 * 1024 ** 2;
  const own = ({ resources }: Container) => resources?.requests?.[resource];
  return containersOf(pod).reduce((sum, container) => sum + (own(container) ? amount(resource, own(container)) : least), 0);
}

export function allocatable({ status }: Node, resource: string): number {
  return amount(resource, status?.allocatable?.[resource]);
}

export function amount(resource: string, quantity: { string?: string } | undefined): number {
  if (!quantity) return 0;
  return resource === 'cpu' ? quantityMilli(quantity) : quantityValue(quantity);
}

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
