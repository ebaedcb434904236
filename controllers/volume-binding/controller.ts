import { isNotFound } from '../../api/errors/index.ts';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeStatus,
  Quantity,
  StorageClass,
} from '../../api/generated/types.ts';
import { storageClassOf } from '../../api/kinds/storage.ts';
import { defaultClassOf } from '../../api/kinds/storage-class/default-class.ts';
import { boundVolume, volumeIndexers } from '../../api/kinds/volume-matching.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { objectKey } from '../../api/meta/key.ts';
import { createLru } from '../../api/meta/lru.ts';
import { secondsTimestamp, toRfc3339 } from '../../api/meta/time.ts';
import { annotations } from '../../api/meta/well-known.ts';
import { type Client, type Clock, type EventRecorder, type Informer, type Logger, referenceTo } from '../../client/index.ts';
import { createClaimTeller, type Note } from '../claim-teller.ts';
import { type Controller, changesOf, type Source } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import { writeStatus } from '../rules.ts';
import { keyOfClaim, keyOfVolume, keyOfVolumeNamed, readStorageKey } from '../storage-keys.ts';
import { boundClaim, decideClaim, decideVolume, unboundVolume } from './decide.ts';

export interface VolumeBindingOptions {
  readonly client: Pick<Client, 'persistentVolumes' | 'persistentVolumeClaims'>;
  /** With the indexes `volumeIndexers` and `claimIndexers`. */
  readonly volumes: Informer<PersistentVolume>;
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly classes: Informer<StorageClass>;
  readonly events: Pick<EventRecorder, 'event'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Of more than so many, two claims may reach for one volume: one meets a conflict. */
const rememberedSize = 4_096;

/** Claims without a volume by their class, and claims by the volume that they name. */
export const claimIndexers = {
  openClass: (claim: PersistentVolumeClaim): readonly string[] => (claim.spec?.volumeName ? [] : [storageClassOf(claim)]),
  volume: ({ spec }: PersistentVolumeClaim): readonly string[] => (spec?.volumeName ? [spec.volumeName] : []),
};

/**
 * Binds claims to volumes. Both sides name each other: the volume's claimRef with the claim's uid first, which only one
 * claim can win, then the claim's volumeName. A binding that was interrupted anywhere is found half done and finished.
 */
export function createVolumeBinding(options: VolumeBindingOptions): Controller {
  return new VolumeBindingController(options);
}

class VolumeBindingController implements Controller {
  readonly #options: VolumeBindingOptions;
  /** Volumes that were just given away, which the informer does not show yet: not offered to the next claim. */
  readonly #given = createLru<{ readonly to: string | undefined; readonly seen: string | undefined }>(rememberedSize);
  readonly #tell: (claim: PersistentVolumeClaim, note: Note) => void;
  readonly name = 'volume-binding';
  readonly sources: readonly Source[];

  constructor(options: VolumeBindingOptions) {
    this.#options = options;
    this.#tell = createClaimTeller(options.events);
    this.sources = [
      changesOf(options.volumes, (volume) => this.#ofVolume(volume)),
      changesOf(options.claims, (claim) => this.#ofClaim(claim)),
      changesOf(options.classes, (storageClass) => this.#ofClass(storageClass)),
    ];
  }

  async reconcile(key: string, signal: AbortSignal): Promise<void> {
    const named = readStorageKey(key);
    if ('claim' in named) await this.#syncClaim(this.#options.claims.lister.get(named.claim), signal);
    else await this.#syncVolume(this.#options.volumes.lister.get(named.volume), signal);
  }

  async #syncClaim(claim: PersistentVolumeClaim | undefined, signal: AbortSignal): Promise<void> {
    const { volumes, classes } = this.#options;
    if (!claim) return;
    const decision = decideClaim(claim, {
      named: volumes.lister.get,
      candidates: (claim) => this.#candidates(claim),
      classNamed: classes.lister.get,
      defaultClass: () => defaultClassOf(classes.lister.list()),
    });
    if (decision.kind === 'bind') return this.#bind(claim, decision.volume, signal);
    if (decision.kind === 'class') return this.#writeClaim(claim, { spec: { storageClassName: decision.name } }, signal);
    if (decision.note) this.#tell(claim, decision.note);
    if (decision.kind === 'provision') await this.#ask(claim, decision.provisioner, signal);
    const phase = decision.kind === 'lost' ? 'Lost' : 'Pending';
    if (claim.status?.phase !== phase) await this.#writeClaimStatus(claim, { phase, accessModes: null, capacity: null }, signal);
  }

  #candidates(claim: PersistentVolumeClaim): readonly PersistentVolume[] {
    const free = this.#options.volumes.lister.byIndex('freeClass', storageClassOf(claim)).filter(({ metadata }) => {
      const last = this.#given.get(metadata?.name ?? '');
      return last?.seen !== metadata?.resourceVersion || last?.to === claim.metadata?.uid;
    });
    return [...this.#options.volumes.lister.byIndex('claim', objectKey(claim)), ...free];
  }

  /** Provisioners read from the claim that they are meant. */
  async #ask(claim: PersistentVolumeClaim, provisioner: string, signal: AbortSignal): Promise<void> {
    if (claim.metadata?.annotations?.[annotations.storageProvisioner] === provisioner) return;
    const asked = { [annotations.storageProvisioner]: provisioner, [annotations.betaStorageProvisioner]: provisioner };
    await this.#writeClaim(claim, { metadata: { annotations: asked } }, signal);
  }

  /** Writes what is missing, the volume's side first: of two claims that want it, one meets a conflict. */
  async #bind(claim: PersistentVolumeClaim, volume: PersistentVolume, signal: AbortSignal): Promise<void> {
    const { client, logger } = this.#options;
    const name = volume.metadata?.name ?? '';
    const ours = boundVolume(volume, claim);
    const taken = ours ? await client.persistentVolumes.patch({ name }, of(volume, ours), {}, { signal }) : volume;
    if (ours) this.#given.set(name, { to: claim.metadata?.uid, seen: volume.metadata?.resourceVersion });
    await this.#writePhase(taken, { phase: 'Bound' }, signal);
    const theirs = boundClaim(claim, taken);
    const { namespace, name: claimName = '' } = claim.metadata ?? {};
    const target = { namespace, name: claimName };
    const bound = theirs ? await client.persistentVolumeClaims.patch(target, of(claim, theirs), {}, { signal }) : claim;
    const { accessModes = [], capacity = {} } = taken.spec ?? {};
    const { status } = bound;
    const isTold =
      status?.phase === 'Bound' && equalValues(status.accessModes, accessModes) && equalValues(status.capacity, capacity);
    if (!isTold) await this.#writeClaimStatus(bound, { phase: 'Bound', accessModes, capacity: textsOf(capacity) }, signal);
    if (theirs) logger.info({ claim: objectKey(claim), volume: name }, 'bound a claim to a volume');
  }

  async #syncVolume(volume: PersistentVolume | undefined, signal: AbortSignal): Promise<void> {
    if (!volume) return;
    const decision = decideVolume(volume, await this.#claimOf(volume, signal));
    const { name = '' } = volume.metadata ?? {};
    if (decision.kind === 'none') return;
    if (decision.kind === 'reclaim') return this.#reclaim(volume, signal);
    if (decision.kind === 'unbind') {
      await this.#options.client.persistentVolumes.patch({ name }, of(volume, unboundVolume(volume)), {}, { signal });
      return;
    }
    const changed = await this.#writePhase(volume, decision.status, signal);
    if (changed && decision.note) {
      const { type, reason, message } = decision.note;
      this.#options.events.event(referenceTo('PersistentVolume', volume), type, reason, message);
    }
  }

  /** Deletes the volume; its provisioner removes the data, and then the finalizer. */
  async #reclaim(volume: PersistentVolume, signal: AbortSignal): Promise<void> {
    // Released first: as long as it looks bound it is protected.
    if (await this.#writePhase(volume, { phase: 'Released' }, signal)) return;
    const { name = '', uid, resourceVersion, deletionTimestamp } = volume.metadata ?? {};
    if (deletionTimestamp !== undefined) return;
    await this.#options.client.persistentVolumes.delete({ name }, { preconditions: { uid, resourceVersion } }, { signal });
    this.#options.logger.info({ volume: name }, 'deleted a volume whose claim is gone');
  }

  /** The claim that a volume belongs to. That it is gone is not believed of a copy that may be late. */
  async #claimOf({ spec }: PersistentVolume, signal: AbortSignal): Promise<PersistentVolumeClaim | undefined> {
    const { namespace = '', name = '', uid } = spec?.claimRef ?? {};
    if (!uid) return undefined;
    const known = this.#options.claims.lister.get(`${namespace}/${name}`);
    if (known?.metadata?.uid === uid) return known;
    try {
      return await this.#options.client.persistentVolumeClaims.get({ namespace, name }, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** True when that is news. */
  async #writePhase(volume: PersistentVolume, status: PersistentVolumeStatus, signal: AbortSignal): Promise<boolean> {
    const { phase, reason, message } = volume.status ?? {};
    if (phase === status.phase && (reason ?? '') === (status.reason ?? '') && (message ?? '') === (status.message ?? ''))
      return false;
    const since =
      phase === status.phase ? {} : { lastPhaseTransitionTime: toRfc3339(secondsTimestamp(new Date(this.#options.clock.now()))) };
    const next = { phase: status.phase, reason: status.reason ?? null, message: status.message ?? null, ...since };
    const name = volume.metadata?.name ?? '';
    await this.#options.client.persistentVolumes.patch(
      { name, subresource: 'status' },
      of(volume, { status: next }),
      {},
      { signal },
    );
    return true;
  }

  async #writeClaim(claim: PersistentVolumeClaim, change: object, signal: AbortSignal): Promise<void> {
    const { namespace, name = '' } = claim.metadata ?? {};
    await this.#options.client.persistentVolumeClaims.patch({ namespace, name }, of(claim, change), {}, { signal });
  }

  async #writeClaimStatus(claim: PersistentVolumeClaim, status: object, signal: AbortSignal): Promise<void> {
    const { namespace, name = '' } = claim.metadata ?? {};
    const target = { namespace, name, subresource: 'status' } as const;
    await this.#options.client.persistentVolumeClaims.patch(target, of(claim, { status }), {}, { signal });
  }

  #ofClaim(claim: PersistentVolumeClaim): string[] {
    return [
      keyOfClaim(objectKey(claim)),
      ...claimIndexers.volume(claim).map(keyOfVolumeNamed),
      ...this.#options.volumes.lister.byIndex('claim', objectKey(claim)).map(keyOfVolume),
    ];
  }

  #ofVolume(volume: PersistentVolume): string[] {
    const open = volume.status?.phase === 'Available' ? volumeIndexers.freeClass(volume) : [];
    return [
      keyOfVolume(volume),
      ...volumeIndexers.claim(volume).map(keyOfClaim),
      ...this.#options.claims.lister.byIndex('volume', volume.metadata?.name ?? '').map((claim) => keyOfClaim(objectKey(claim))),
      ...open
        .flatMap((name) => this.#options.claims.lister.byIndex('openClass', name))
        .map((claim) => keyOfClaim(objectKey(claim))),
    ];
  }

  /** Claims that name it, and those that name none, which may get it. */
  #ofClass({ metadata }: StorageClass): string[] {
    return [metadata?.name ?? '', '']
      .flatMap((name) => this.#options.claims.lister.byIndex('openClass', name))
      .map((claim) => keyOfClaim(objectKey(claim)));
  }
}

/** A change of that very version: a decision on an older one meets a conflict. */
function of({ metadata = {} }: PersistentVolume | PersistentVolumeClaim, change: object): object {
  const { uid, resourceVersion } = metadata;
  return { ...change, metadata: { ...('metadata' in change ? (change.metadata as object) : {}), uid, resourceVersion } };
}

function textsOf(amounts: Readonly<Record<string, Quantity>>): Record<string, string> {
  return Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, amount.string ?? '0']));
}

export const volumeBinding: ControllerDefinition = {
  name: 'volume-binding',
  component: 'persistentvolume-controller',
  rules: [writeStatus('', 'persistentvolumes'), writeStatus('', 'persistentvolumeclaims')],
  watches: {
    PersistentVolume: { whole: true, indexers: volumeIndexers },
    PersistentVolumeClaim: { whole: true, indexers: claimIndexers },
    StorageClass: { whole: true },
  },
  create: ({ informer, ...context }) =>
    createVolumeBinding({
      ...context,
      volumes: informer('PersistentVolume'),
      claims: informer('PersistentVolumeClaim'),
      classes: informer('StorageClass'),
    }),
};
