import { isNotFound } from '../../api/errors/index.ts';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../api/generated/types.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { claimsOf } from '../../api/kinds/storage.ts';
import { objectKey } from '../../api/meta/key.ts';
import { finalizers } from '../../api/meta/well-known.ts';
import { type Client, type Informer, type Logger, listAll, type ResourceClient } from '../../client/index.ts';
import { type Controller, changesOf } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import { keyOfClaim, keyOfVolume, readStorageKey } from '../storage-keys.ts';
import { decideFinalizers, isVolumeInUse } from './decide.ts';

export interface VolumeProtectionOptions {
  readonly client: Pick<Client, 'persistentVolumes' | 'persistentVolumeClaims' | 'pods'>;
  readonly volumes: Informer<PersistentVolume>;
  readonly claims: Informer<PersistentVolumeClaim>;
  /** Outlines suffice. With the indexes `claimUserIndexers`. */
  readonly pods: Informer<Pod>;
  readonly logger: Logger;
}

/** Pods on a node by the claims that they use, also those that have ended: their objects are still there. */
export const claimUserIndexers = {
  claim: (pod: Pod): readonly string[] =>
    pod.spec?.nodeName ? claimsOf(pod).map((name) => `${pod.metadata?.namespace ?? ''}/${name}`) : [],
};

/** Keeps claims from going while a pod uses them, and volumes while a claim has them. */
export function createVolumeProtection(options: VolumeProtectionOptions): Controller {
  const { client, volumes, claims, pods, logger } = options;

  async function reconcile(key: string, signal: AbortSignal): Promise<void> {
    const named = readStorageKey(key);
    if ('claim' in named) return syncClaim(named.claim, signal);
    const volume = volumes.lister.get(named.volume);
    const wanted = volume && decideFinalizers(volume, finalizers.volumeProtection, () => isVolumeInUse(volume));
    if (wanted) await write(client.persistentVolumes, volume, wanted, signal);
  }

  async function syncClaim(key: string, signal: AbortSignal): Promise<void> {
    const claim = claims.lister.get(key);
    const wanted = claim && decideFinalizers(claim, finalizers.claimProtection, () => pods.lister.isInIndex('claim', key));
    if (!wanted) return;
    // A pod that came a moment ago may not be in the copy yet; once it is gone nothing brings the data's name back.
    if (claim.metadata?.deletionTimestamp && (await isUsed(key, claim, signal))) return;
    await write(client.persistentVolumeClaims, claim, wanted, signal);
  }

  async function isUsed(key: string, { metadata }: PersistentVolumeClaim, signal: AbortSignal): Promise<boolean> {
    const { items } = await listAll(client.pods, { namespace: metadata?.namespace }, { signal });
    return items.some((pod) => claimUserIndexers.claim(pod).includes(key));
  }

  async function write(
    target: Pick<ResourceClient<ApiObject>, 'patch'>,
    object: ApiObject,
    wanted: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const { namespace, name = '', uid, resourceVersion } = object.metadata ?? {};
    const patch = { metadata: { uid, resourceVersion, finalizers: wanted } };
    await target.patch({ namespace, name }, patch, {}, { signal }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    if (object.metadata?.deletionTimestamp) logger.info({ object: objectKey(object) }, 'nothing uses it any more, it may go');
  }

  const ofClaim = (claim: PersistentVolumeClaim) => [keyOfClaim(objectKey(claim))];
  const ofVolume = (volume: PersistentVolume) => [keyOfVolume(volume)];
  const ofPod = (pod: Pod) => claimUserIndexers.claim(pod).map(keyOfClaim);
  return {
    name: 'volume-protection',
    sources: [changesOf(volumes, ofVolume), changesOf(claims, ofClaim), changesOf(pods, ofPod, { matters: () => false })],
    reconcile,
  };
}

export const volumeProtection: ControllerDefinition = {
  name: 'volume-protection',
  watches: {
    PersistentVolume: { whole: true },
    PersistentVolumeClaim: { whole: true },
    Pod: { indexers: claimUserIndexers },
  },
  create: ({ informer, ...context }) =>
    createVolumeProtection({
      ...context,
      volumes: informer('PersistentVolume'),
      claims: informer('PersistentVolumeClaim'),
      pods: informer('Pod'),
    }),
};
