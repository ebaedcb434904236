import type { Node, Pod } from '../api/generated/types.ts';
import type { InformerHandler } from '../client/index.ts';
import type { Cache } from './cache/cache.ts';
import type { ClusterEvent } from './framework/plugin.ts';
import { podInfo } from './framework/pod-info.ts';
import type { QueueInput } from './queue/scheduling-queue.ts';

export interface ObserverOptions {
  readonly schedulerName: string;
  readonly cache: Cache;
  readonly queue: QueueInput;
}

/** Turns what the informers tell into calls of cache and queue. */
export interface Observer {
  readonly pods: InformerHandler<Pod>;
  readonly nodes: InformerHandler<Node>;
  /** Says how things are with a pod; may be called at any time and again. */
  setPod(pod: Pod): void;
}

export function createObserver({ schedulerName, cache, queue }: ObserverOptions): Observer {
  const tell = (events: readonly ClusterEvent[]) => {
    for (const event of events) queue.happened(event);
  };

  function setPod(pod: Pod): void {
    const uid = pod.metadata?.uid ?? '';
    if (needsNode(pod, schedulerName)) {
      // Placed by us and not yet shown as bound: an echo from before the binding.
      if (!cache.has(uid)) queue.add(podInfo(pod));
      return;
    }
    queue.remove(uid);
    tell(cache.setPod(pod));
  }

  function removePod(pod: Pod): void {
    queue.remove(pod.metadata?.uid ?? '');
    tell(cache.removePod(pod));
  }

  function updatePod(next: Pod, old: Pod): void {
    // Deleted and created again while nobody was looking.
    if (next.metadata?.uid !== old.metadata?.uid) removePod(old);
    setPod(next);
  }

  function updateNode(next: Node, old: Node): void {
    if (next.metadata?.uid !== old.metadata?.uid) cache.removeNode(old);
    tell(cache.setNode(next));
  }

  return {
    setPod,
    pods: { name: 'scheduler pods', onAdd: setPod, onUpdate: updatePod, onDelete: removePod },
    nodes: {
      name: 'scheduler nodes',
      onAdd: (node) => tell(cache.setNode(node)),
      onUpdate: updateNode,
      onDelete: (node) => cache.removeNode(node),
    },
  };
}

/** A pod of this scheduler that waits for a node: not bound, finished, on its way out, or held back by a gate. */
export function needsNode(pod: Pod, schedulerName: string): boolean {
  const { spec = {}, status = {}, metadata = {} } = pod;
  if (spec.nodeName || spec.schedulerName !== schedulerName) return false;
  if (status.phase === 'Succeeded' || status.phase === 'Failed' || metadata.deletionTimestamp) return false;
  return (spec.schedulingGates ?? []).length === 0;
}
