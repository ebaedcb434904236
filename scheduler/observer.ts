import type { Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass } from '../api/generated/types.ts';
import { isGated } from '../api/kinds/pod/gates.ts';
import { isFinished } from '../api/kinds/pod/lifecycle.ts';
import { storageClassOf } from '../api/kinds/storage.ts';
import { objectKey } from '../api/meta/key.ts';
import type { InformerHandler } from '../client/index.ts';
import type { Cache } from './cache/cache.ts';
import type { ClusterEvent } from './framework/plugin.ts';
import { type PodInfo, podInfo } from './framework/pod-info.ts';
import type { QueueInput } from './queue/scheduling-queue.ts';

export interface ObserverOptions {
  /** Pods with these `spec.schedulerName` enter the queue. */
  readonly schedulerNames: ReadonlySet<string>;
  readonly cache: Cache;
  readonly queue: QueueInput;
}

/** Turns what the informers tell into calls of cache and queue. */
export interface Observer {
  readonly pods: InformerHandler<Pod>;
  readonly nodes: InformerHandler<Node>;
  readonly namespaces: InformerHandler<Namespace>;
  readonly claims: InformerHandler<PersistentVolumeClaim>;
  readonly volumes: InformerHandler<PersistentVolume>;
  readonly classes: InformerHandler<StorageClass>;
  /** Says how things are with a pod; may be called at any time and again. */
  setPod(pod: Pod): void;
}

export function createObserver({ schedulerNames, cache, queue }: ObserverOptions): Observer {
  const tell = (events: readonly ClusterEvent[]) => {
    for (const event of events) queue.happened(event);
  };

  function setPod(pod: Pod): void {
    const uid = pod.metadata?.uid ?? '';
    if (needsNode(pod, schedulerNames)) {
      // Placed by us and not yet shown as bound: an echo from before the binding.
      if (!cache.has(uid)) addWaiting(podInfo(pod));
      return;
    }
    queue.remove(uid);
    tell(cache.setPod(pod));
  }

  /**
   * What the pod says of its nomination is the news of another scheduler, or our own from before a restart:
   * what we know ourselves is newer.
   */
  function addWaiting(info: PodInfo): void {
    const { nominatedNodeName } = info.pod.status ?? {};
    if (nominatedNodeName && !cache.nominatedNode(info.uid)) cache.nominate(info, nominatedNodeName);
    queue.add(info);
  }

  function removePod(pod: Pod): void {
    queue.remove(pod.metadata?.uid ?? '');
    tell(cache.removePod(pod));
  }

  function updatePod(next: Pod, old: Pod): void {
    // Deleted and created again while the connection was lost.
    if (next.metadata?.uid !== old.metadata?.uid) removePod(old);
    setPod(next);
  }

  function updateNode(next: Node, old: Node): void {
    if (next.metadata?.uid !== old.metadata?.uid) tell(cache.removeNode(old));
    tell(cache.setNode(next));
  }

  return {
    ...storageHandlers(queue),
    setPod,
    pods: { name: 'scheduler pods', onAdd: setPod, onUpdate: updatePod, onDelete: removePod },
    nodes: {
      name: 'scheduler nodes',
      onAdd: (node) => tell(cache.setNode(node)),
      onUpdate: updateNode,
      onDelete: (node) => tell(cache.removeNode(node)),
    },
    namespaces: {
      name: 'scheduler namespaces',
      onAdd: (namespace) => tell(cache.setNamespace(namespace)),
      onUpdate: (namespace) => tell(cache.setNamespace(namespace)),
      onDelete: (namespace) => tell(cache.removeNamespace(namespace)),
    },
  };
}

/** What changes of storage mean to pods that wait for volumes. */
function storageHandlers(queue: ObserverOptions['queue']): Pick<Observer, 'claims' | 'volumes' | 'classes'> {
  const tellOfClaim = (claim: PersistentVolumeClaim) => queue.happened({ kind: 'storage/changed', claim: objectKey(claim) });
  function tellOfVolume(volume: PersistentVolume): void {
    const { namespace = '', name = '' } = volume.spec?.claimRef ?? {};
    if (name !== '') queue.happened({ kind: 'storage/changed', claim: `${namespace}/${name}` });
    else if (volume.status?.phase === 'Available') tellOfClass(storageClassOf(volume));
  }
  const tellOfClass = (storageClass: string) => queue.happened({ kind: 'storage/class', storageClass });
  const classChanged = ({ metadata }: StorageClass) => tellOfClass(metadata?.name ?? '');

  return {
    claims: { name: 'scheduler claims', onAdd: tellOfClaim, onUpdate: tellOfClaim },
    volumes: { name: 'scheduler volumes', onAdd: tellOfVolume, onUpdate: tellOfVolume },
    classes: { name: 'scheduler storage classes', onAdd: classChanged, onUpdate: classChanged },
  };
}

/** A pod of these schedulers that waits for a node: not bound, finished, on its way out, or held back by a gate. */
export function needsNode(pod: Pod, schedulerNames: ReadonlySet<string>): boolean {
  const { spec = {}, metadata = {} } = pod;
  if (spec.nodeName || !schedulerNames.has(spec.schedulerName ?? '')) return false;
  if (isFinished(pod) || metadata.deletionTimestamp) return false;
  return !isGated(pod);
}
