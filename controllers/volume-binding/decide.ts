import type { PersistentVolume, PersistentVolumeClaim, PersistentVolumeStatus, StorageClass } from '../../api/generated/types.ts';
import { isKeptFor, selectedNode, storageClassOf } from '../../api/kinds/storage.ts';
import { namesNoClass } from '../../api/kinds/storage-class/default-class.ts';
import { isLocalPath, noProvisioner } from '../../api/kinds/storage-class/local-path.ts';
import {
  compareVolumes,
  compileChoice,
  hasModes,
  isBound,
  isLargeEnough,
  isLeaving,
  satisfies,
  waitsForConsumer,
} from '../../api/kinds/volume-matching.ts';
import { annotations, finalizers } from '../../api/meta/well-known.ts';
import type { Note } from '../claim-teller.ts';

/**
 * What a claim needs. `bind` is said also of one that is bound:
 * whatever of the binding is missing on either side is written.
 *
 *     Pending --bind--> Bound --its volume is gone, or another claim's--> Lost
 */
export type ClaimDecision =
  | { readonly kind: 'wait'; readonly note?: Note }
  | { readonly kind: 'bind'; readonly volume: PersistentVolume }
  /** It names no class, and there is one for such claims. */
  | { readonly kind: 'class'; readonly name: string }
  /** An external provisioner is to make its volume, and learns of it by an annotation. */
  | { readonly kind: 'provision'; readonly provisioner: string; readonly note: Note }
  | { readonly kind: 'lost'; readonly note: Note };

export interface Volumes {
  named(name: string): PersistentVolume | undefined;
  /** Those that may be chosen for the claim: of its class and free, or kept for it. */
  candidates(claim: PersistentVolumeClaim): readonly PersistentVolume[];
  classNamed(name: string): StorageClass | undefined;
  defaultClass(): StorageClass | undefined;
}

/** Decides about a claim. Pure. */
export function decideClaim(claim: PersistentVolumeClaim, volumes: Volumes): ClaimDecision {
  const { volumeName } = claim.spec ?? {};
  if (claim.metadata?.annotations?.[annotations.bindCompleted] === 'yes') return decideBound(claim, volumes);
  // What is used is protected first; one on its way out gets nothing any more.
  if (claim.metadata?.deletionTimestamp || !claim.metadata?.finalizers?.includes(finalizers.claimProtection))
    return { kind: 'wait' };
  if (volumeName) return decideNamed(claim, volumes.named(volumeName));
  const storageClass = volumes.classNamed(storageClassOf(claim));
  const delayed = waitsForConsumer(storageClass);
  const volume = bestOf(claim, volumes.candidates(claim), delayed);
  if (volume) return { kind: 'bind', volume };
  const byDefault = namesNoClass(claim) ? volumes.defaultClass()?.metadata?.name : undefined;
  if (byDefault) return { kind: 'class', name: byDefault };
  const isConsumed = selectedNode(claim) !== undefined;
  return delayed && !isConsumed ? { kind: 'wait', note: noConsumer } : decideMaking(claim, storageClass);
}

function decideBound(claim: PersistentVolumeClaim, volumes: Volumes): ClaimDecision {
  const lost = (reason: string, message: string): ClaimDecision => ({
    kind: 'lost',
    note: { type: 'Warning', reason, message },
  });
  const name = claim.spec?.volumeName;
  if (!name) return lost('ClaimLost', 'Bound claim has lost reference to PersistentVolume. Data on the volume is lost!');
  const volume = volumes.named(name);
  if (!volume) return lost('ClaimLost', 'Bound claim has lost its PersistentVolume. Data on the volume is lost!');
  const { claimRef } = volume.spec ?? {};
  if (!claimRef || isKeptFor(volume.spec ?? {}, claim)) return { kind: 'bind', volume };
  return lost('ClaimMisbound', 'Two claims are bound to the same volume, this one is bound incorrectly');
}

/** Of a claim that names its volume. */
function decideNamed(claim: PersistentVolumeClaim, volume: PersistentVolume | undefined): ClaimDecision {
  if (!volume) return { kind: 'wait' };
  const name = volume.metadata?.name;
  const spec = volume.spec ?? {};
  if (spec.claimRef && !isKeptFor(spec, claim)) {
    const message = `volume "${name}" already bound to a different claim.`;
    return { kind: 'wait', note: { type: 'Warning', reason: 'FailedBinding', message } };
  }
  const mismatch = spec.claimRef ? undefined : mismatchOf(claim, volume);
  if (mismatch) {
    const message = `Cannot bind to requested volume "${name}": ${mismatch}`;
    return { kind: 'wait', note: { type: 'Warning', reason: 'VolumeMismatch', message } };
  }
  return isLeaving(volume, claim) ? { kind: 'wait' } : { kind: 'bind', volume };
}

/** Why a volume that was picked by name does not do for the claim. */
function mismatchOf(claim: PersistentVolumeClaim, volume: PersistentVolume): string | undefined {
  if (!isLargeEnough(claim, volume)) return 'requested PV is too small';
  if (storageClassOf(volume) !== storageClassOf(claim)) return 'storageClassName does not match';
  if (volume.spec?.volumeMode !== claim.spec?.volumeMode) return 'incompatible volumeMode';
  return hasModes(claim, volume) ? undefined : 'incompatible accessMode';
}

/**
 * The volume that is kept for the claim; else, unless a pod has to say where,
 * the best of those that it may choose from.
 */
function bestOf(
  claim: PersistentVolumeClaim,
  candidates: readonly PersistentVolume[],
  onlyKept: boolean,
): PersistentVolume | undefined {
  const isKept = ({ spec = {} }: PersistentVolume) => spec.claimRef !== undefined && isKeptFor(spec, claim);
  const kept = candidates.find((volume) => isKept(volume) && satisfies(volume, claim));
  if (kept || onlyKept) return kept;
  const mayChoose = compileChoice(claim);
  let best: PersistentVolume | undefined;
  for (const volume of candidates)
    if (mayChoose(volume) && (best === undefined || compareVolumes(volume, best) < 0)) best = volume;
  return best;
}

/** Of a claim for which there is no volume: who makes one. */
function decideMaking(claim: PersistentVolumeClaim, storageClass: StorageClass | undefined): ClaimDecision {
  const failed = (message: string): ClaimDecision => ({
    kind: 'wait',
    note: { type: 'Warning', reason: 'ProvisioningFailed', message },
  });
  const name = storageClassOf(claim);
  if (name === '') return { kind: 'wait', note: noVolume };
  if (!storageClass) return failed(`storageclass.storage.k8s.io "${name}" not found`);
  const { provisioner = '' } = storageClass;
  if (provisioner === noProvisioner)
    return failed(`no volume of class "${name}" fits, and its class has none made; make one that fits, or wait for one`);
  // Another controller of this program makes it, and records the events.
  if (isLocalPath(provisioner)) return { kind: 'wait' };
  const message = `waits for provisioner "${provisioner}" to make a volume; if none comes, look whether that program runs`;
  return { kind: 'provision', provisioner, note: { type: 'Normal', reason: 'ExternalProvisioning', message } };
}

const noVolume: Note = {
  type: 'Normal',
  reason: 'FailedBinding',
  message: 'no persistent volumes available for this claim and no storage class is set',
};

const noConsumer: Note = {
  type: 'Normal',
  reason: 'WaitForFirstConsumer',
  message: 'waits for a pod that uses it: its volume will be where that pod goes',
};

/**
 * What a volume needs: a phase, to be let go because its claim took another one,
 * or to be deleted because its claim is gone.
 */
export type VolumeDecision =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'phase';
      readonly status: Pick<PersistentVolumeStatus, 'phase' | 'reason' | 'message'>;
      readonly note?: Note;
    }
  | { readonly kind: 'unbind' }
  | { readonly kind: 'reclaim' };

const free: VolumeDecision = { kind: 'phase', status: { phase: 'Available' } };

/** Decides about a volume; `claim` is the one that its claimRef names, if it exists. Pure. */
export function decideVolume(volume: PersistentVolume, claim: PersistentVolumeClaim | undefined): VolumeDecision {
  const { claimRef } = volume.spec ?? {};
  if (!claimRef?.uid) return free;
  if (claim?.metadata?.uid !== claimRef.uid) return decideReleased(volume);
  const { volumeName } = claim.spec ?? {};
  // The binding is on its way: the claim's turn.
  if (!volumeName) return { kind: 'none' };
  if (volumeName === volume.metadata?.name) return { kind: 'phase', status: { phase: 'Bound' } };
  // A volume that was made for it is offered to no other claim.
  return isMadeForClaim(volume) ? decideReleased(volume) : { kind: 'unbind' };
}

const isMadeForClaim = ({ metadata, spec }: PersistentVolume): boolean =>
  metadata?.annotations?.[annotations.provisionedBy] !== undefined && spec?.persistentVolumeReclaimPolicy === 'Delete';

/**
 * The claim is gone. What was made for it goes with it, if its class said so; what an administrator put on a node stays
 * where it is, whatever the policy says.
 */
function decideReleased(volume: PersistentVolume): VolumeDecision {
  const { metadata, spec } = volume;
  const policy = spec?.persistentVolumeReclaimPolicy;
  const released: VolumeDecision = { kind: 'phase', status: { phase: 'Released' } };
  // An external provisioner deletes its own volumes.
  if (isMadeForClaim(volume))
    return isLocalPath(metadata?.annotations?.[annotations.provisionedBy]) ? { kind: 'reclaim' } : released;
  if (policy !== 'Delete' && policy !== 'Recycle') return released;
  const [verb, reason] = policy === 'Delete' ? ['deletable', 'VolumeFailedDelete'] : ['recyclable', 'VolumeFailedRecycle'];
  const message = `no ${verb} volume plugin matched volume "${metadata?.name}": its data stay where they are; remove them by hand`;
  return { kind: 'phase', status: { phase: 'Failed', reason, message }, note: { type: 'Warning', reason, message } };
}

/** What a claim looks like that has the volume; undefined when it does already. */
export function boundClaim(claim: PersistentVolumeClaim, volume: PersistentVolume): object | undefined {
  const { spec } = claim;
  if (isBound(claim)) return undefined;
  const chosen = spec?.volumeName ? {} : { [annotations.boundByController]: 'yes' };
  return {
    metadata: { annotations: { [annotations.bindCompleted]: 'yes', ...chosen } },
    spec: { volumeName: volume.metadata?.name },
  };
}

/** What a volume looks like that is free again: what the controller wrote is taken back, what a person wrote stays. */
export function unboundVolume({ metadata }: PersistentVolume): object {
  if (metadata?.annotations?.[annotations.boundByController] === undefined)
    return { spec: { claimRef: { uid: null, resourceVersion: null } } };
  return { metadata: { annotations: { [annotations.boundByController]: null } }, spec: { claimRef: null } };
}
