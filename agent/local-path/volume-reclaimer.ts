import { isNotFound } from '../../api/errors/index.ts';
import type { PersistentVolume } from '../../api/generated/types.ts';
import { isLocalPathVolume, nodeOfVolume } from '../../api/kinds/storage-class/local-path.ts';
import { finalizers } from '../../api/meta/well-known.ts';
import type { Clock } from '../../client/clock.ts';
import type { EventRecorder } from '../../client/events/events.ts';
import { referenceTo } from '../../client/events/reference.ts';
import { createInformer } from '../../client/informer/informer.ts';
import type { Logger } from '../../client/logger.ts';
import type { ResourceClient } from '../../client/services/resource-client.ts';
import { createWorkQueue } from '../../client/work-queue/work-queue.ts';
import type { MadeFolders } from './made-folders.ts';

export interface VolumeReclaimerOptions {
  readonly client: Pick<ResourceClient<PersistentVolume>, 'list' | 'watch' | 'patch'>;
  readonly nodeName: string;
  readonly folders: Pick<MadeFolders, 'remove'>;
  /** Whether a pod that the API has no more still runs here with the claim, given as namespace/name. */
  isInUse(claim: string): boolean;
  readonly events: Pick<EventRecorder, 'event'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Removes the folders of volumes that are deleted, and then lets the volumes go. */
export interface VolumeReclaimer {
  run(signal: AbortSignal): Promise<void>;
}

/** What one does about a volume. */
export type ReclaimDecision =
  | { readonly kind: 'none' }
  | { readonly kind: 'let-go' }
  | { readonly kind: 'remove'; readonly path: string };

/** How soon is looked again whether the last container has ended. */
const inUseMs = 1_000;
/** Removing is work for the disk. */
const workers = 2;

/** Decides about a volume of this node. Pure. */
export function decideReclaim(volume: PersistentVolume, nodeName: string): ReclaimDecision {
  const { deletionTimestamp, finalizers: present = [] } = volume.metadata ?? {};
  const isOurs = nodeOfVolume(volume) === nodeName && present.includes(finalizers.localPath);
  // As long as a claim has it, it only looks deleted.
  if (!isOurs || deletionTimestamp === undefined || present.includes(finalizers.volumeProtection)) return { kind: 'none' };
  const { persistentVolumeReclaimPolicy: policy, persistentVolumeSource: source } = volume.spec ?? {};
  const path = source?.local?.path;
  return policy === 'Delete' && isLocalPathVolume(volume) && path ? { kind: 'remove', path } : { kind: 'let-go' };
}

export function createVolumeReclaimer(options: VolumeReclaimerOptions): VolumeReclaimer {
  const { client, nodeName, folders, isInUse, events, clock, logger } = options;
  const scope = { fieldSelector: `spec.local.nodeName=${nodeName}` };
  const volumes = createInformer<PersistentVolume>({ client, scope, name: 'persistentvolumes', clock, logger });
  const queue = createWorkQueue({ name: 'local-path', clock, logger });

  async function sync(name: string, signal: AbortSignal): Promise<void> {
    const volume = volumes.lister.get(name);
    const decision = volume && decideReclaim(volume, nodeName);
    if (!volume || !decision || decision.kind === 'none') return;
    if (decision.kind === 'remove') {
      const { namespace = '', name: claimName = '' } = volume.spec?.claimRef ?? {};
      if (isInUse(`${namespace}/${claimName}`)) {
        queue.addAfter(name, inUseMs);
        return;
      }
      await removeFolder(volume, decision.path);
    }
    await letGo(volume, signal);
    logger.info(
      { volume: name },
      decision.kind === 'remove' ? 'removed a volume with its data' : 'let a volume go, its data stay',
    );
  }

  async function removeFolder(volume: PersistentVolume, path: string): Promise<void> {
    try {
      await folders.remove(path);
    } catch (error) {
      const message = `cannot remove ${path}: ${error instanceof Error ? error.message : String(error)}`;
      events.event(referenceTo('PersistentVolume', volume), 'Warning', 'VolumeFailedDelete', message);
      throw error;
    }
  }

  async function letGo({ metadata = {} }: PersistentVolume, signal: AbortSignal): Promise<void> {
    const { name = '', uid, resourceVersion, finalizers: present = [] } = metadata;
    const left = present.filter((each) => each !== finalizers.localPath);
    await client
      .patch({ name }, { metadata: { uid, resourceVersion, finalizers: left } }, {}, { signal })
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
  }

  return {
    async run(signal) {
      const wake = ({ metadata }: PersistentVolume) => queue.add(metadata?.name ?? '');
      const removeHandler = volumes.addHandler({ name: 'local-path', onAdd: wake, onUpdate: wake });
      try {
        await Promise.all([volumes.run(signal), queue.run(workers, sync, signal)]);
      } finally {
        removeHandler();
      }
    },
  };
}
