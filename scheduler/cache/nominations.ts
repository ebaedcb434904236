import type { PodInfo } from '../framework/pod-info.ts';
import { addPorts, copyPorts } from './host-ports.ts';
import type { NodeRow } from './node-table.ts';

/** Pods for which room is being made, by the node where. Each has one node at most. */
export interface Nominations {
  set(pod: PodInfo, nodeName: string): void;
  /** Answers what was there. */
  delete(uid: string): Nomination | undefined;
  get(uid: string): Nomination | undefined;
  on(nodeName: string): Iterable<PodInfo>;
  /** The names of all nodes with a nominated pod. */
  nodes(): Iterable<string>;
  copy(): Nominations;
}

export interface Nomination {
  readonly pod: PodInfo;
  readonly nodeName: string;
}

export function createNominations(): Nominations {
  const byPod = new Map<string, Nomination>();
  const byNode = new Map<string, Map<string, PodInfo>>();

  function remove(uid: string): Nomination | undefined {
    const known = byPod.get(uid);
    if (!known) return undefined;
    byPod.delete(uid);
    const others = byNode.get(known.nodeName);
    others?.delete(uid);
    if (others?.size === 0) byNode.delete(known.nodeName);
    return known;
  }

  return {
    set(pod, nodeName) {
      remove(pod.uid);
      byPod.set(pod.uid, { pod, nodeName });
      const others = byNode.get(nodeName) ?? new Map<string, PodInfo>();
      byNode.set(nodeName, others.set(pod.uid, pod));
    },
    delete: remove,
    get: (uid) => byPod.get(uid),
    on: (nodeName) => byNode.get(nodeName)?.values() ?? [],
    nodes: () => byNode.keys(),
    copy() {
      const other = createNominations();
      for (const { pod, nodeName } of byPod.values()) other.set(pod, nodeName);
      return other;
    },
  };
}

/**
 * The row as if pods that are nominated to it were there. Only what filters compare: they are not among its pods, so
 * that no trial removes them and scores count on them only where they compare the same sums. What they mean to filters
 * that look at pods and not at sums, framework/beside-nominated.ts asks.
 */
export function withNominated(row: NodeRow, pods: readonly PodInfo[]): NodeRow {
  if (pods.length === 0) return row;
  const figures = { ...row.figures };
  const extended = new Map(row.extended);
  const hostPorts = copyPorts(row.hostPorts);
  for (const { requests, hostPorts: wanted } of pods) {
    figures.requestedCpu += requests.cpuMilli;
    figures.requestedMemory += requests.memory;
    figures.requestedStorage += requests.ephemeralStorage;
    figures.podCount += 1;
    figures.hostPorts += wanted.length;
    addPorts(hostPorts, wanted);
    for (const [name, amount] of requests.extended) {
      const { allocatable = 0, requested = 0 } = extended.get(name) ?? {};
      extended.set(name, { allocatable, requested: requested + amount });
    }
  }
  return { ...row, figures, extended, hostPorts, nominated: pods };
}
