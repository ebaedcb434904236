import type { Pod } from '../../api/generated/types.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { type Clock, pause } from '../../client/clock.ts';
import type { Logger } from '../../client/logger.ts';
import { createWorkQueue } from '../../client/work-queue/work-queue.ts';
import { isAlive } from '../pod/observation.ts';
import { isLeaving } from '../pod/pod-lifecycle.ts';
import type { PodRecord } from '../pod/pod-record.ts';
import type { PodVolumes } from './pod-volumes.ts';

/** Keeps the volumes of running pods as their ConfigMaps, Secrets and own fields are. */
export interface VolumeRefresher {
  /**
   * A pod has changed: what its volumes say of it, and of ConfigMaps and Secrets, follows at once where its labels or
   * annotations are others. With kubelet, too, a new annotation is how users get changed objects without a wait.
   */
  changed(next: Pod, old: Pod): void;
  run(signal: AbortSignal): Promise<void>;
}

export interface VolumeRefresherOptions {
  readonly podVolumes: Pick<PodVolumes, 'refresh'>;
  records(): Iterable<PodRecord>;
  get(podUid: string): PodRecord | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A changed ConfigMap is in the pods that mount it half a minute later; Kubernetes takes about a minute. */
const refreshMs = 30_000;
/** What is shown is at most so old in these rounds: pods that share an object ask once. */
const roundAgeMs = 15_000;
const atOnce = 4;

export function createVolumeRefresher(options: VolumeRefresherOptions): VolumeRefresher {
  const { podVolumes, records, get, clock, logger } = options;
  const queue = createWorkQueue({ name: 'volumes', backoff: { initialMs: 1_000, maxMs: refreshMs }, clock, logger });

  const runs = (record: PodRecord) => !isLeaving(record.life) && [...record.containers.values()].some(isAlive);

  /** Pods in the queue because they have changed: their objects are read anew. */
  const hasChanged = new Set<string>();

  async function refresh(uid: string): Promise<void> {
    const isAnew = hasChanged.delete(uid);
    const record = get(uid);
    if (record?.pod === undefined || !runs(record)) return;
    try {
      await podVolumes.refresh(record.pod, isAnew ? 0 : roundAgeMs, () => get(uid) === record && runs(record));
    } catch (error) {
      if (isAnew) hasChanged.add(uid);
      throw error;
    }
  }

  return {
    changed(next, old) {
      const isSame =
        equalValues(next.metadata?.labels, old.metadata?.labels) &&
        equalValues(next.metadata?.annotations, old.metadata?.annotations);
      if (isSame || !showsObjects(next)) return;
      const uid = next.metadata?.uid ?? '';
      hasChanged.add(uid);
      queue.add(uid);
    },
    async run(signal) {
      const often = async () => {
        while (!signal.aborted) {
          await pause(refreshMs, signal, clock);
          for (const { uid, pod } of records()) if (pod !== undefined && showsObjects(pod)) queue.add(uid);
        }
      };
      await Promise.all([queue.run(atOnce, refresh, signal), often()]);
    },
  };
}

/** Whether a volume shows fields of the pod. */
function showsPod(pod: Pod): boolean {
  return (pod.spec?.volumes ?? []).some(
    ({ volumeSource }) =>
      volumeSource?.downwardAPI !== undefined ||
      volumeSource?.projected?.sources?.some(({ downwardAPI }) => downwardAPI !== undefined),
  );
}

/** Whether a volume shows what may change while the pod runs. */
export function showsObjects(pod: Pod): boolean {
  const shows = (pod.spec?.volumes ?? []).some(
    ({ volumeSource }) => volumeSource?.configMap ?? volumeSource?.secret ?? volumeSource?.projected,
  );
  return shows || showsPod(pod);
}
