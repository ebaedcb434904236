import type { Node, Pod } from '../../api/generated/types.ts';
import { toMillis } from '../../api/meta/time.ts';
import type { ClusterEvent } from '../framework/plugin.ts';
import { type PodInfo, podInfo } from '../framework/pod-info.ts';
import { nodeChanges } from './node-changes.ts';
import { addPod, createNodeRecord, type NodeRecord, removePod, rowOf, setNode } from './node-record.ts';
import type { WritableNodeTable } from './node-table.ts';
import { createSeen } from './seen.ts';

/**
 * The scheduler's picture of nodes and the pods on them: what the API has told, plus the placements it has not told yet.
 *
 *              assume              setPod
 *     unknown ---------> assumed ------------> bound
 *        ^                |   ^                 |
 *        |                |   | acknowledge     |
 *        |  forget,       |   | (binding was    |
 *        +--- expire -----+---+  accepted)      |
 *        |                                      |
 *        +------------- removePod, finished ----+
 *
 * - A pod counts on its node from `assume` on, so that the next attempt sees it, before the API knows.
 * - `setPod` (the API shows the pod bound) always wins, whatever node was assumed.
 * - `forget` takes an assumed pod back, never a bound one.
 * - An assumed pod expires 30 s after its binding was acknowledged if the API has not shown it; before that, never.
 * - Pods bound to nodes that are not known count as soon as their node appears.
 * - Events may come doubled, late, or in any order between nodes and pods: each says how things are, and old news is dropped.
 */
export interface Cache extends Placements, Observations {
  /** Brings the table to the present; touches only rows that changed since the last call with the same table. */
  sync(table: WritableNodeTable): void;
}

/** What the scheduler itself decides. */
export interface Placements {
  assume(pod: PodInfo, nodeName: string): void;
  acknowledge(uid: string): void;
  forget(uid: string): void;
  /** Whether the pod counts on a node. */
  has(uid: string): boolean;
  /** Takes back what has expired, and says what it was. */
  expire(): PodInfo[];
}

/** What the API tells. Each answers what it means to pods that wait; nothing when it is no news. */
export interface Observations {
  setPod(pod: Pod): ClusterEvent[];
  removePod(pod: Pod): ClusterEvent[];
  setNode(node: Node): ClusterEvent[];
  removeNode(node: Node): void;
}

/** Binding is done and the watch is this far behind: something is wrong, and the API is asked again by trying again. */
export const assumedExpiryMs = 30_000;

interface Placed {
  readonly pod: PodInfo;
  readonly nodeName: string;
  readonly placedAt: number;
  readonly state: 'assumed' | 'bound';
  /** Only for an assumed pod whose binding was acknowledged. */
  readonly expiresAt?: number;
}

export interface CacheOptions {
  /** Milliseconds; only differences matter, except that it is compared with the nodes' clocks once per node. */
  readonly now: () => number;
}

export function createCache({ now }: CacheOptions): Cache {
  const records = new Map<string, NodeRecord>();
  const placed = new Map<string, Placed>();
  const assumed = new Set<string>();
  const changed = new Set<string>();
  const seenPods = createSeen();
  const seenNodes = createSeen();
  let generation = 0;

  function touch(record: NodeRecord): void {
    generation += 1;
    record.figures.generation = generation;
    changed.add(record.name);
    if (!record.node && record.pods.size === 0) records.delete(record.name);
  }

  function recordOf(name: string): NodeRecord {
    const record = records.get(name) ?? createNodeRecord(name);
    records.set(name, record);
    return record;
  }

  function place(placement: Placed): void {
    take(placement.pod.uid);
    placed.set(placement.pod.uid, placement);
    if (placement.state === 'assumed') assumed.add(placement.pod.uid);
    const record = recordOf(placement.nodeName);
    addPod(record, placement.pod, { placedAt: placement.placedAt, now: now() });
    touch(record);
  }

  function take(uid: string): Placed | undefined {
    const placement = placed.get(uid);
    if (!placement) return undefined;
    placed.delete(uid);
    assumed.delete(uid);
    const record = recordOf(placement.nodeName);
    removePod(record, uid, now());
    touch(record);
    return placement;
  }

  function release(pod: Pod): ClusterEvent[] {
    const gone = take(pod.metadata?.uid ?? '');
    return gone ? [{ kind: 'pod/removed', pod: gone.pod }] : [];
  }

  return {
    assume(pod, nodeName) {
      place({ pod, nodeName, placedAt: now(), state: 'assumed' });
    },
    acknowledge(uid) {
      const placement = placed.get(uid);
      if (placement?.state === 'assumed') placed.set(uid, { ...placement, expiresAt: now() + assumedExpiryMs });
    },
    forget(uid) {
      if (assumed.has(uid)) take(uid);
    },
    has: (uid) => placed.has(uid),
    expire() {
      const expired = [...assumed].filter((uid) => (placed.get(uid)?.expiresAt ?? Number.POSITIVE_INFINITY) <= now());
      return expired.flatMap((uid) => take(uid)?.pod ?? []);
    },
    setPod(pod) {
      if (!seenPods.isNews(pod.metadata)) return [];
      const nodeName = pod.spec?.nodeName;
      if (!nodeName) return [];
      if (isFinished(pod)) return release(pod);
      const known = placed.get(pod.metadata?.uid ?? '');
      const info = podInfo(pod);
      place({ pod: info, nodeName, placedAt: known?.placedAt ?? boundAt(pod, now()), state: 'bound' });
      return known ? [] : [{ kind: 'pod/bound', pod: info }];
    },
    removePod(pod) {
      seenPods.remove(pod.metadata);
      return release(pod);
    },
    setNode(node) {
      if (!seenNodes.isNews(node.metadata)) return [];
      const record = recordOf(node.metadata?.name ?? '');
      const previous = record.node;
      if (previous && previous.metadata?.uid !== node.metadata?.uid) seenNodes.remove(previous.metadata);
      setNode(record, node, now());
      touch(record);
      return previous ? nodeChanges(previous, node).map((kind) => ({ kind, node })) : [{ kind: 'node/added', node }];
    },
    removeNode(node) {
      seenNodes.remove(node.metadata);
      const record = records.get(node.metadata?.name ?? '');
      if (!record?.node || record.node.metadata?.uid !== node.metadata?.uid) return;
      record.node = undefined;
      record.reading = undefined;
      touch(record);
    },
    sync(table) {
      for (const name of changed) {
        const record = records.get(name);
        if (record?.node) table.write(rowOf(record, record.node));
        else table.remove(name);
      }
      changed.clear();
    },
  };
}

/** A finished pod holds nothing and never starts again. */
function isFinished(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

/** When a pod that somebody else placed came to its node: what its condition says, and never later than now. */
function boundAt(pod: Pod, now: number): number {
  const scheduled = pod.status?.conditions?.find((condition) => condition.type === 'PodScheduled')?.lastTransitionTime;
  return scheduled ? Math.min(now, toMillis(scheduled)) : now;
}
