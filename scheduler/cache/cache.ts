import type { Namespace, Node, Pod } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { equalValues } from '../../api/meta/equal.ts';
import type { Labels } from '../../api/meta/labels.ts';
import { toMillis } from '../../api/meta/time.ts';
import type { ClusterEvent } from '../framework/plugin.ts';
import { type PodInfo, podInfo } from '../framework/pod-info.ts';
import { nodeChanges } from './node-changes.ts';
import { addPod, copyRecord, createNodeRecord, creditUse, type NodeRecord, removePod, rowOf, setNode } from './node-record.ts';
import type { WritableNodeTable } from './node-table.ts';
import { createNominations, type Nominations, withNominated } from './nominations.ts';
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
 * - A pod for which room is being made on a node is nominated to it until it is bound or gone. Pods of lower and of equal priority see the room
 *   that it needs as taken.
 * - Events may come doubled, late, or in any order between nodes and pods: each says how things are, and old news is dropped.
 */
export interface Cache extends Placements, Observations {
  /**
   * Brings the table to the present, as `viewer` sees it: with the room that others, nominated and at least as important, wait for. Touches only
   * rows that changed since the last call with the same table, or that look different to this viewer.
   */
  sync(table: WritableNodeTable, viewer?: PodInfo): void;
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
  /** A private copy for trials. */
  fork(): Cache;
  /** Room is being made for the pod on the node. */
  nominate(pod: PodInfo, nodeName: string): void;
  /** The pod waits for that room no longer: what that means to others. */
  withdraw(uid: string): ClusterEvent[];
  /** Where room is being made for the pod. */
  nominatedNode(uid: string): string | undefined;
  /** The pods that wait for room on a node. */
  nominatedOn(nodeName: string): Iterable<PodInfo>;
}

/** What the API tells. Each answers what it means to pods that wait; nothing when it is no news. */
export interface Observations {
  setPod(pod: Pod): ClusterEvent[];
  removePod(pod: Pod): ClusterEvent[];
  setNode(node: Node): ClusterEvent[];
  removeNode(node: Node): ClusterEvent[];
  setNamespace(namespace: Namespace): ClusterEvent[];
  removeNamespace(namespace: Namespace): ClusterEvent[];
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

/** What a cache knows to begin with. */
interface Origin {
  readonly records: Iterable<NodeRecord>;
  readonly placed: Iterable<readonly [string, Placed]>;
  readonly namespaces: Iterable<readonly [string, Labels]>;
  readonly nominations: Nominations;
}

export function createCache(options: CacheOptions): Cache {
  return cacheFrom({ records: [], placed: [], namespaces: [], nominations: createNominations() }, options);
}

function cacheFrom(origin: Origin, { now }: CacheOptions): Cache {
  const records = new Map([...origin.records].map((record) => [record.name, record]));
  const placed = new Map<string, Placed>(origin.placed);
  const assumed = new Set([...placed.values()].filter(({ state }) => state === 'assumed').map(({ pod }) => pod.uid));
  const changed = new Set(records.keys());
  const namespaces = new Map<string, Labels>(origin.namespaces);
  /** Those that the table has not been told of. */
  const changedNamespaces = new Set(namespaces.keys());
  const { nominations } = origin;
  let viewed: Pick<PodInfo, 'uid' | 'priority'> | undefined;
  const seenPods = createSeen();
  const seenNodes = createSeen();
  let generation = 0;

  function touch(record: NodeRecord): void {
    generation += 1;
    record.figures.generation = generation;
    changed.add(record.name);
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
    refreshNominated(placement.pod.uid);
  }

  /** The row on which the pod is nominated looks different now. */
  function refreshNominated(uid: string): void {
    const nomination = nominations.get(uid);
    if (nomination) changed.add(nomination.nodeName);
  }

  function withdraw(uid: string): ClusterEvent[] {
    refreshNominated(uid);
    const nomination = nominations.delete(uid);
    return nomination ? [{ kind: 'pod/removed', pod: nomination.pod }] : [];
  }

  /** Those who wait for room on the node and go before the viewer, or came before it. */
  function nominatedBeside(nodeName: string): PodInfo[] {
    const { uid, priority = Number.POSITIVE_INFINITY } = viewed ?? {};
    return [...nominations.on(nodeName)].filter((pod) => pod.priority >= priority && pod.uid !== uid && !placed.has(pod.uid));
  }

  function lookAs(viewer: PodInfo | undefined): void {
    if (viewed?.priority !== viewer?.priority) for (const name of nominations.nodes()) changed.add(name);
    else for (const uid of [viewed?.uid, viewer?.uid]) if (uid !== undefined) refreshNominated(uid);
    viewed = viewer;
  }

  function take(uid: string): Placed | undefined {
    const placement = placed.get(uid);
    if (!placement) return undefined;
    placed.delete(uid);
    assumed.delete(uid);
    const record = recordOf(placement.nodeName);
    removePod(record, uid, now());
    touch(record);
    refreshNominated(uid);
    return placement;
  }

  function release(pod: Pod): ClusterEvent[] {
    const { uid = '' } = pod.metadata ?? {};
    const known = placed.get(uid);
    if (known?.state === 'bound') creditUse(recordOf(known.nodeName), known.pod);
    const gone = take(uid);
    const freed = withdraw(uid);
    return gone ? [{ kind: 'pod/removed', pod: gone.pod }] : freed;
  }

  function changeNamespace(name: string, labels: Labels | undefined): ClusterEvent[] {
    if (labels) namespaces.set(name, labels);
    else namespaces.delete(name);
    changedNamespaces.add(name);
    return [{ kind: 'namespace/changed', namespace: name }];
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
    nominate(pod, nodeName) {
      refreshNominated(pod.uid);
      nominations.set(pod, nodeName);
      changed.add(nodeName);
    },
    fork: () =>
      cacheFrom({ records: [...records.values()].map(copyRecord), placed, namespaces, nominations: nominations.copy() }, { now }),
    withdraw,
    nominatedNode: (uid) => nominations.get(uid)?.nodeName,
    nominatedOn: (nodeName) => nominations.on(nodeName),
    expire() {
      const expired = [...assumed].filter((uid) => (placed.get(uid)?.expiresAt ?? Number.POSITIVE_INFINITY) <= now());
      return expired.flatMap((uid) => take(uid)?.pod ?? []);
    },
    setPod(pod) {
      if (!seenPods.isNews(pod.metadata)) return [];
      const nodeName = pod.spec?.nodeName;
      // It holds nothing and never starts again.
      if (isFinished(pod)) return release(pod);
      if (!nodeName) return withdraw(pod.metadata?.uid ?? '');
      const known = placed.get(pod.metadata?.uid ?? '');
      const info = podInfo(pod);
      place({ pod: info, nodeName, placedAt: known?.placedAt ?? boundAt(pod, now()), state: 'bound' });
      const freed = nominations.get(info.uid)?.nodeName === nodeName ? [] : withdraw(info.uid);
      nominations.delete(info.uid);
      return [...freed, ...podEvents(info, known)];
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
      if (!record?.node || record.node.metadata?.uid !== node.metadata?.uid) return [];
      record.node = undefined;
      record.reading = undefined;
      touch(record);
      return [{ kind: 'node/removed', nodeName: record.name }];
    },
    setNamespace({ metadata }) {
      const { name = '', labels = {} } = metadata ?? {};
      const known = namespaces.get(name);
      return known && equalValues(known, labels) ? [] : changeNamespace(name, labels);
    },
    removeNamespace: ({ metadata }) => changeNamespace(metadata?.name ?? '', undefined),
    sync(table, viewer) {
      for (const name of changedNamespaces) table.setNamespace(name, namespaces.get(name));
      changedNamespaces.clear();
      lookAs(viewer);
      for (const name of changed) {
        const record = recordOf(name);
        if (record.node) table.write(withNominated(rowOf(record, record.node), nominatedBeside(name)));
        else table.remove(record);
        record.before.clear();
        if (!record.node && record.pods.size === 0) records.delete(name);
      }
      changed.clear();
    },
  };
}

function podEvents(pod: PodInfo, known: Placed | undefined): ClusterEvent[] {
  const events: ClusterEvent[] = [];
  if (known?.state !== 'bound') events.push({ kind: 'pod/bound', pod });
  if (known && pod.face.key !== known.pod.face.key) events.push({ kind: 'pod/changed', pod, before: known.pod });
  if (known && asksForLess(pod, known.pod)) events.push({ kind: 'pod/shrunk', pod });
  return events;
}

/** Only CPU and memory of a bound pod change. */
function asksForLess({ requests }: PodInfo, { requests: before }: PodInfo): boolean {
  return requests.cpuMilli < before.cpuMilli || requests.memory < before.memory;
}

/** When a pod that another scheduler placed came to its node: what its condition says, and never later than now. */
function boundAt(pod: Pod, now: number): number {
  const scheduled = pod.status?.conditions?.find((condition) => condition.type === 'PodScheduled')?.lastTransitionTime;
  return scheduled ? Math.min(now, toMillis(scheduled)) : now;
}
