import type { Node, Pod, Taint } from '../../api/generated/types.ts';
import { compileTerm, requiredNodes } from '../../api/kinds/node/selector.ts';
import { tolerates } from '../../api/kinds/node/tolerations.ts';
import {
  allocatable,
  amount,
  assumed,
  containersOf,
  nameOf,
  nodesOf,
  placedOn,
  podsOn,
  requested,
  sum,
  type World,
} from './world.ts';

// What plugins say that look at a node and the pods on it alone.

const tolerated = (pod: Pod, taint: Taint): boolean => tolerates(pod.spec?.tolerations ?? [], taint);
const noSchedule = (key: string): Taint => ({ key, effect: 'NoSchedule' });

export function nodeNameFilter(_: World, pod: Pod, node: Node): string | undefined {
  const wanted = pod.spec?.nodeName;
  return wanted && wanted !== nameOf(node) ? "node(s) didn't match the requested node name" : undefined;
}

export function unschedulableFilter(_: World, pod: Pod, node: Node): string | undefined {
  const isMarked = node.spec?.unschedulable && !tolerated(pod, noSchedule('node.kubernetes.io/unschedulable'));
  return isMarked ? 'node(s) were unschedulable' : undefined;
}

export function readyFilter(_: World, pod: Pod, node: Node): string | undefined {
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  if (ready === 'True') return undefined;
  const word = ready === 'Unknown' ? 'unreachable' : 'not-ready';
  if (tolerated(pod, noSchedule(`node.kubernetes.io/${word}`))) return undefined;
  return ready === 'Unknown' ? 'node(s) were unreachable' : 'node(s) were not ready';
}

export function taintFilter(_: World, pod: Pod, node: Node): string | undefined {
  const taint = node.spec?.taints?.find((each) => each.effect !== 'PreferNoSchedule' && !tolerated(pod, each));
  return taint && `node(s) had untolerated taint {${taint.key}${taint.value ? `: ${taint.value}` : ''}}`;
}

export function taintScores(_: World, pod: Pod, nodes: readonly Node[]): number[] {
  const tolerations = (pod.spec?.tolerations ?? []).filter(({ effect }) => !effect || effect === 'PreferNoSchedule');
  const untolerated = nodes.map(
    ({ spec }) =>
      (spec?.taints ?? []).filter((taint) => taint.effect === 'PreferNoSchedule' && !tolerates(tolerations, taint)).length,
  );
  const most = Math.max(...untolerated);
  return untolerated.map((count) => (most === 0 ? 100 : 100 - (100 * count) / most));
}

export function nodeAffinityFilter(_: World, pod: Pod, node: Node): string | undefined {
  return requiredNodes(pod)?.(node) === false ? "node(s) didn't match the pod's node affinity or selector" : undefined;
}

export function nodeAffinityScores(_: World, pod: Pod, nodes: readonly Node[]): number[] {
  const terms = pod.spec?.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  const sums = nodes.map((node) =>
    sum(terms.filter(({ preference = {} }) => compileTerm(preference)(node)).map(({ weight = 0 }) => weight)),
  );
  const most = Math.max(...sums);
  return sums.map((score) => (most === 0 ? 0 : (100 * score) / most));
}

const portsOf = (pod: Pod) => containersOf(pod).flatMap(({ ports = [] }) => ports.filter(({ hostPort = 0 }) => hostPort > 0));
const isAll = (ip: string | undefined): boolean => ip === undefined || ip === '' || ip === '0.0.0.0';

export function portsFilter(world: World, pod: Pod, node: Node): string | undefined {
  const taken = podsOn(world, node).flatMap(portsOf);
  const clash = portsOf(pod).find(({ hostPort, hostIP, protocol = 'TCP' }) =>
    taken.some(
      (other) =>
        other.hostPort === hostPort &&
        (other.protocol ?? 'TCP') === protocol &&
        (isAll(hostIP) || isAll(other.hostIP) || hostIP === other.hostIP),
    ),
  );
  return clash && `node(s) had host port ${clash.hostPort}/${clash.protocol ?? 'TCP'} taken by another pod`;
}

export function fitFilter(world: World, pod: Pod, node: Node): string | undefined {
  const there = podsOn(world, node);
  if (there.length + 1 > allocatable(node, 'pods')) return 'too many pods';
  for (const resource of ['cpu', 'memory', 'ephemeral-storage', 'example.com/gpu']) {
    const wanted = requested(pod, resource);
    const used = sum(there.map((other) => requested(other, resource)));
    if (wanted > 0 && used + wanted > allocatable(node, resource)) return `insufficient ${resource}`;
  }
  return undefined;
}

const freeShare = (of: number, used: number): number => (used >= of ? 0 : (of - used) / of);

/** Requests of the pods there and of the pod to come, those that are not said assumed. */
const wouldBeAssumed = (world: World, pod: Pod, node: Node, resource: 'cpu' | 'memory'): number =>
  sum([pod, ...podsOn(world, node)].map((each) => assumed(each, resource)));

/** What is compared, by weight, and what a node scores of which such a part would be requested. */
export interface Strategy {
  readonly weights: Readonly<Record<string, number>>;
  readonly score: (share: number) => number;
  readonly skipsZero?: boolean;
}

export const leastAllocated: Strategy = { weights: { cpu: 1, memory: 1 }, score: (share) => 100 - 100 * share };

export function strategyScores({ weights, score, skipsZero }: Strategy) {
  return (world: World, pod: Pod, nodes: readonly Node[]): number[] =>
    nodes.map((node) => {
      const parts = Object.entries(weights).flatMap(([resource, weight]) => {
        const limit = allocatable(node, resource);
        const isOwn = resource === 'cpu' || resource === 'memory';
        if (limit === 0 || (!isOwn && requested(pod, resource) === 0)) return [];
        const used = isOwn
          ? wouldBeAssumed(world, pod, node, resource)
          : sum([pod, ...podsOn(world, node)].map((each) => requested(each, resource)));
        const value = score(Math.min(1, used / limit));
        return skipsZero && value === 0 ? [] : [{ weight, value }];
      });
      return parts.length === 0
        ? 0
        : sum(parts.map(({ weight, value }) => weight * value)) / sum(parts.map(({ weight }) => weight));
    });
}

export function balancedScores(world: World, pod: Pod, nodes: readonly Node[]): number[] {
  if (requested(pod, 'cpu') + requested(pod, 'memory') === 0) return nodes.map(() => 0);
  return nodes.map((node) => {
    const share = (resource: string) => {
      const used = sum([pod, ...podsOn(world, node)].map((each) => requested(each, resource)));
      return Math.min(1, used / allocatable(node, resource));
    };
    return 100 - 50 * Math.abs(share('cpu') - share('memory'));
  });
}

const settleMs = 30_000;
const staleAfterMs = 150_000;

/** The node's reading, if it is not too old. Nodes of the tests measure moments, no windows. */
function freshReading(world: World, node: Node): { cpu: number; memory: number; arrivedAt: number } | undefined {
  const { usage } = node.status ?? {};
  const arrivedAt = world.nodes.get(nameOf(node))!.readingArrivedAt;
  if (!usage?.timestamp || arrivedAt < world.now - staleAfterMs) return undefined;
  return { cpu: amount('cpu', usage.cpu), memory: amount('memory', usage.memory), arrivedAt };
}

export function usageFilter(world: World, pod: Pod, node: Node): string | undefined {
  const reading = freshReading(world, node);
  const wanted = requested(pod, 'memory');
  if (!reading || wanted === 0) return undefined;
  const since = placedOn(world, node).filter(({ placedAt }) => placedAt > reading.arrivedAt);
  const capacity = amount('memory', node.status?.capacity?.memory);
  const available = capacity - reading.memory - sum(since.map((each) => requested(each.pod, 'memory')));
  // A tenth of the machine may be missing.
  return available + capacity / 10 < wanted ? 'node(s) had too little memory available' : undefined;
}

export function usageScores(world: World, pod: Pod, nodes: readonly Node[]): number[] {
  return nodes.map((node) => {
    const reading = freshReading(world, node);
    const free = (resource: 'cpu' | 'memory') => {
      const limit = allocatable(node, resource);
      if (!reading) return freeShare(limit, wouldBeAssumed(world, pod, node, resource));
      const unsettled = placedOn(world, node).filter(({ placedAt }) => placedAt + settleMs > reading.arrivedAt);
      const system = amount(resource, node.status?.capacity?.[resource]) - limit;
      const ofPods = Math.max(0, reading[resource] - system);
      return freeShare(limit, ofPods + sum([...unsettled.map((each) => each.pod), pod].map((each) => assumed(each, resource))));
    };
    return (100 * (free('cpu') + free('memory'))) / 2;
  });
}

const mebibyte = 1024 ** 2;

export function imageScores(world: World, pod: Pod, nodes: readonly Node[]): number[] {
  const sizeOn = (node: Node, image: string) =>
    node.status?.images?.find(({ names = [] }) => names.includes(image))?.sizeBytes ?? 0;
  const all = nodesOf(world);
  return nodes.map((node) => {
    const sizes = containersOf(pod).map(({ image = '' }) => {
      const holders = all.filter((other) => sizeOn(other, image) > 0).length;
      return holders === all.length ? 0 : (sizeOn(node, image) * holders) / all.length;
    });
    const most = containersOf(pod).length * 1000 * mebibyte;
    return (100 * Math.max(0, Math.min(sum(sizes), most) - 23 * mebibyte)) / (most - 23 * mebibyte);
  });
}
