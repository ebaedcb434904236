import type { Pod } from '../../api/generated/types.ts';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import { findCondition } from '../../api/meta/conditions.ts';
import { toMillis } from '../../api/meta/time.ts';
import { workloadAnnotations } from '../../api/meta/workload-names.ts';
import { isActive } from './availability.ts';

const maxCost = 2 ** 31 - 1;
const phases = { Pending: 0, Unknown: 1, Running: 2 } as Readonly<Record<string, number>>;

/** The cost that the annotation says; 0 where it is absent or no whole number of 32 bits. */
export function deletionCost({ metadata }: Pod): number {
  const text = metadata?.annotations?.[workloadAnnotations.podDeletionCost] ?? '';
  if (!/^-?(?:0|[1-9]\d{0,9})$/.test(text)) return 0;
  const cost = Number(text);
  return cost >= -maxCost - 1 && cost <= maxCost ? cost : 0;
}

/** Ages of the same power of two count as equal, so that the choice among pods of about the same age is random. */
function logarithmicAge(since: number, now: number): number {
  return since >= now ? 0 : Math.floor(Math.log2(now - since));
}

const restarts = ({ status }: Pod): number =>
  [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].reduce(
    (most, { restartCount = 0 }) => Math.max(most, restartCount),
    0,
  );

const readySince = ({ status }: Pod): number | undefined => {
  const since = findCondition(status?.conditions, 'Ready')?.lastTransitionTime;
  return since && toMillis(since);
};

const createdAt = ({ metadata }: Pod): number => (metadata?.creationTimestamp ? toMillis(metadata.creationTimestamp) : 0);

export interface DeletionOrderOptions {
  /** How many pods of the same set (for a ReplicaSet of a Deployment: of all of its ReplicaSets) are on each node. */
  readonly onNode: ReadonlyMap<string, number>;
  readonly now: number;
}

/**
 * The pods in the order in which they go when there are too many: unassigned, Pending, not ready ones first; then those
 * with the lower deletion cost, those that share their node with more of their like, those that have been ready for the
 * shorter time, those that restarted more often, the younger ones. Kubernetes' order (ActivePodsWithRanks).
 */
export function inDeletionOrder(pods: readonly Pod[], { onNode, now }: DeletionOrderOptions): Pod[] {
  const ranked = pods.map((pod) => ({ pod, rank: rankOf(pod, onNode, now) }));
  ranked.sort((a, b) => compareRanks(a.rank, b.rank) || ((a.pod.metadata?.uid ?? '') < (b.pod.metadata?.uid ?? '') ? -1 : 1));
  return ranked.map(({ pod }) => pod);
}

/** Lower goes first, place by place. */
function rankOf(pod: Pod, onNode: ReadonlyMap<string, number>, now: number): readonly number[] {
  const { nodeName = '' } = pod.spec ?? {};
  const isReady = isPodReady(pod);
  const since = isReady ? readySince(pod) : undefined;
  return [
    nodeName === '' ? 0 : 1,
    phases[pod.status?.phase ?? ''] ?? 1,
    isReady ? 1 : 0,
    deletionCost(pod),
    -(onNode.get(nodeName) ?? 0),
    since === undefined ? 0 : logarithmicAge(since, now),
    -restarts(pod),
    logarithmicAge(createdAt(pod), now),
  ];
}

function compareRanks(a: readonly number[], b: readonly number[]): number {
  for (const [at, value] of a.entries()) if (value !== b[at]) return value - b[at]!;
  return 0;
}

/** How many of the pods each node has, for `inDeletionOrder`. Those that have ended, or are leaving, are not there. */
export function countOnNodes(pods: Iterable<Pod>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const pod of pods) {
    const { nodeName = '' } = pod.spec ?? {};
    if (nodeName !== '' && isActive(pod)) counts.set(nodeName, (counts.get(nodeName) ?? 0) + 1);
  }
  return counts;
}
