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
 * The scheduler's picture of nodes and the pods on them: what the API has told,
 * plus the placements it has not told yet.
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
 * - A pod for which room is being made on a node is nominated to it until it is bound or gone. Pods of lower and of
 *   equal priority see the room that it needs as taken.
 * - Events may come doubled, late, or in any order between nodes and pods: each says how things are,
 *   and old news is dropped.
 */
export interface Cache extends Placements, Observations {
  /**
   * Brings the table to the present, as `viewer` sees it: with the room that others, nominated and at least as
   * important, wait for. Touches only rows that changed since the last call with the same table, or that look different
   * to this viewer.
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

function cacheFrom(origin: Origin, options: CacheOptions): Cache {
  return new LiveCache(origin, options);
}

class LiveCache implements Cache {
  readonly #now: () => number;
  readonly #nominations: Nominations;
  readonly #records: Map<string, NodeRecord>;
  readonly #placed: Map<string, Placed>;
  readonly #assumed: Set<string>;
  readonly #changed: Set<string>;
  readonly #namespaces: Map<string, Labels>;
  /** Those that the table has not been told of. */
  readonly #changedNamespaces: Set<string>;
  #viewed: Pick<PodInfo, 'uid' | 'priority'> | undefined;
  readonly #seenPods = createSeen();
  readonly #seenNodes = createSeen();
  #generation = 0;

  constructor(origin: Origin, { now }: CacheOptions) {
    this.#now = now;
    this.#nominations = origin.nominations;
    this.#records = new Map([...origin.records].map((record) => [record.name, record]));
    this.#placed = new Map<string, Placed>(origin.placed);
    this.#assumed = new Set([...this.#placed.values()].filter(({ state }) => state === 'assumed').map(({ pod }) => pod.uid));
    this.#changed = new Set(this.#records.keys());
    this.#namespaces = new Map<string, Labels>(origin.namespaces);
    this.#changedNamespaces = new Set(this.#namespaces.keys());
  }

  assume(pod: PodInfo, nodeName: string): void {
    this.#place({ pod, nodeName, placedAt: this.#now(), state: 'assumed' });
  }

  acknowledge(uid: string): void {
    const placement = this.#placed.get(uid);
    if (placement?.state === 'assumed') this.#placed.set(uid, { ...placement, expiresAt: this.#now() + assumedExpiryMs });
  }

  forget(uid: string): void {
    if (this.#assumed.has(uid)) this.#take(uid);
  }

  has(uid: string): boolean {
    return this.#placed.has(uid);
  }

  nominate(pod: PodInfo, nodeName: string): void {
    this.#refreshNominated(pod.uid);
    this.#nominations.set(pod, nodeName);
    this.#changed.add(nodeName);
  }

  fork(): Cache {
    return cacheFrom(
      {
        records: [...this.#records.values()].map(copyRecord),
        placed: this.#placed,
        namespaces: this.#namespaces,
        nominations: this.#nominations.copy(),
      },
      { now: this.#now },
    );
  }

  withdraw(uid: string): ClusterEvent[] {
    this.#refreshNominated(uid);
    const nomination = this.#nominations.delete(uid);
    return nomination ? [{ kind: 'pod/removed', pod: nomination.pod }] : [];
  }

  nominatedNode(uid: string): string | undefined {
    return this.#nominations.get(uid)?.nodeName;
  }

  nominatedOn(nodeName: string): Iterable<PodInfo> {
    return this.#nominations.on(nodeName);
  }

  expire(): PodInfo[] {
    const expired = [...this.#assumed].filter(
      (uid) => (this.#placed.get(uid)?.expiresAt ?? Number.POSITIVE_INFINITY) <= this.#now(),
    );
    return expired.flatMap((uid) => this.#take(uid)?.pod ?? []);
  }

  setPod(pod: Pod): ClusterEvent[] {
    if (!this.#seenPods.isNews(pod.metadata)) return [];
    const nodeName = pod.spec?.nodeName;
    // It holds nothing and never starts again.
    if (isFinished(pod)) return this.#release(pod);
    if (!nodeName) return this.withdraw(pod.metadata?.uid ?? '');
    const known = this.#placed.get(pod.metadata?.uid ?? '');
    const info = podInfo(pod);
    this.#place({ pod: info, nodeName, placedAt: known?.placedAt ?? boundAt(pod, this.#now()), state: 'bound' });
    const freed = this.#nominations.get(info.uid)?.nodeName === nodeName ? [] : this.withdraw(info.uid);
    this.#nominations.delete(info.uid);
    return [...freed, ...podEvents(info, known)];
  }

  removePod(pod: Pod): ClusterEvent[] {
    this.#seenPods.remove(pod.metadata);
    return this.#release(pod);
  }

  setNode(node: Node): ClusterEvent[] {
    if (!this.#seenNodes.isNews(node.metadata)) return [];
    const record = this.#recordOf(node.metadata?.name ?? '');
    const previous = record.node;
    if (previous && previous.metadata?.uid !== node.metadata?.uid) this.#seenNodes.remove(previous.metadata);
    setNode(record, node, this.#now());
    this.#touch(record);
    return previous ? nodeChanges(previous, node).map((kind) => ({ kind, node })) : [{ kind: 'node/added', node }];
  }

  removeNode(node: Node): ClusterEvent[] {
    this.#seenNodes.remove(node.metadata);
    const record = this.#records.get(node.metadata?.name ?? '');
    if (!record?.node || record.node.metadata?.uid !== node.metadata?.uid) return [];
    record.node = undefined;
    record.reading = undefined;
    this.#touch(record);
    return [{ kind: 'node/removed', nodeName: record.name }];
  }

  setNamespace({ metadata }: Namespace): ClusterEvent[] {
    const { name = '', labels = {} } = metadata ?? {};
    const known = this.#namespaces.get(name);
    return known && equalValues(known, labels) ? [] : this.#changeNamespace(name, labels);
  }

  removeNamespace({ metadata }: Namespace): ClusterEvent[] {
    return this.#changeNamespace(metadata?.name ?? '', undefined);
  }

  sync(table: WritableNodeTable, viewer?: PodInfo): void {
    for (const name of this.#changedNamespaces) table.setNamespace(name, this.#namespaces.get(name));
    this.#changedNamespaces.clear();
    this.#lookAs(viewer);
    for (const name of this.#changed) {
      const record = this.#recordOf(name);
      if (record.node) table.write(withNominated(rowOf(record, record.node), this.#nominatedBeside(name)));
      else table.remove(record);
      record.before.clear();
      if (!record.node && record.pods.size === 0) this.#records.delete(name);
    }
    this.#changed.clear();
  }

  #touch(record: NodeRecord): void {
    this.#generation += 1;
    record.figures.generation = this.#generation;
    this.#changed.add(record.name);
  }

  #recordOf(name: string): NodeRecord {
    const record = this.#records.get(name) ?? createNodeRecord(name);
    this.#records.set(name, record);
    return record;
  }

  #place(placement: Placed): void {
    this.#take(placement.pod.uid);
    this.#placed.set(placement.pod.uid, placement);
    if (placement.state === 'assumed') this.#assumed.add(placement.pod.uid);
    const record = this.#recordOf(placement.nodeName);
    addPod(record, placement.pod, { placedAt: placement.placedAt, now: this.#now() });
    this.#touch(record);
    this.#refreshNominated(placement.pod.uid);
  }

  /** The row on which the pod is nominated looks different now. */
  #refreshNominated(uid: string): void {
    const nomination = this.#nominations.get(uid);
    if (nomination) this.#changed.add(nomination.nodeName);
  }

  /** Those who wait for room on the node and go before the viewer, or came before it. */
  #nominatedBeside(nodeName: string): PodInfo[] {
    const { uid, priority = Number.POSITIVE_INFINITY } = this.#viewed ?? {};
    return [...this.#nominations.on(nodeName)].filter(
      (pod) => pod.priority >= priority && pod.uid !== uid && !this.#placed.has(pod.uid),
    );
  }

  #lookAs(viewer: PodInfo | undefined): void {
    if (this.#viewed?.priority !== viewer?.priority) for (const name of this.#nominations.nodes()) this.#changed.add(name);
    else for (const uid of [this.#viewed?.uid, viewer?.uid]) if (uid !== undefined) this.#refreshNominated(uid);
    this.#viewed = viewer;
  }

  #take(uid: string): Placed | undefined {
    const placement = this.#placed.get(uid);
    if (!placement) return undefined;
    this.#placed.delete(uid);
    this.#assumed.delete(uid);
    const record = this.#recordOf(placement.nodeName);
    removePod(record, uid, this.#now());
    this.#touch(record);
    this.#refreshNominated(uid);
    return placement;
  }

  #release(pod: Pod): ClusterEvent[] {
    const { uid = '' } = pod.metadata ?? {};
    const known = this.#placed.get(uid);
    if (known?.state === 'bound') creditUse(this.#recordOf(known.nodeName), known.pod);
    const gone = this.#take(uid);
    const freed = this.withdraw(uid);
    return gone ? [{ kind: 'pod/removed', pod: gone.pod }] : freed;
  }

  #changeNamespace(name: string, labels: Labels | undefined): ClusterEvent[] {
    if (labels) this.#namespaces.set(name, labels);
    else this.#namespaces.delete(name);
    this.#changedNamespaces.add(name);
    return [{ kind: 'namespace/changed', namespace: name }];
  }
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
