import type { PersistentVolume, PersistentVolumeClaim, PersistentVolumeStatus } from '../../api/generated/types.ts';
import { isKeptFor, storageClassOf } from '../../api/kinds/storage.ts';
import { compileLabelSelector } from '../../api/meta/labels.ts';
import { compareQuantity } from '../../api/meta/quantity.ts';
import { annotations, finalizers } from '../../api/meta/well-known.ts';

/** What people are told of a claim that waits or has lost its volume; Kubernetes' reasons. */
export interface Note {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/**
 * What a claim needs. `bind` is said also of one that is bound: whatever of the binding is missing on either side is written.
 *
 *     Pending --bind--> Bound --its volume is gone, or somebody else's--> Lost
 */
export type ClaimDecision =
  | { readonly kind: 'wait'; readonly note?: Note }
  | { readonly kind: 'bind'; readonly volume: PersistentVolume }
  | { readonly kind: 'lost'; readonly note: Note };

export interface Volumes {
  named(name: string): PersistentVolume | undefined;
  /** Those that may be chosen for the claim: of its class and free, or kept for it. */
  candidates(claim: PersistentVolumeClaim): readonly PersistentVolume[];
}

/** Decides about a claim. Pure. */
export function decideClaim(claim: PersistentVolumeClaim, volumes: Volumes): ClaimDecision {
  const { volumeName } = claim.spec ?? {};
  if (claim.metadata?.annotations?.[annotations.bindCompleted] === 'yes') return decideBound(claim, volumes);
  // What is used is protected first; one on its way out gets nothing any more.
  if (claim.metadata?.deletionTimestamp || !claim.metadata?.finalizers?.includes(finalizers.claimProtection))
    return { kind: 'wait' };
  if (volumeName) return decideNamed(claim, volumes.named(volumeName));
  const volume = bestOf(claim, volumes.candidates(claim));
  return volume ? { kind: 'bind', volume } : { kind: 'wait', note: noVolume(storageClassOf(claim)) };
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

/** Of a claim whose volume somebody picked. */
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
 * Kubernetes' choice: the volume that is kept for the claim; else of the free ones with its class, its labels, its access modes and its size
 * those with the fewest access modes, of them the smallest. Equal ones by name, so that the choice can be repeated.
 */
function bestOf(claim: PersistentVolumeClaim, candidates: readonly PersistentVolume[]): PersistentVolume | undefined {
  const selector = claim.spec?.selector && compileLabelSelector(claim.spec.selector);
  let best: PersistentVolume | undefined;
  for (const volume of candidates) {
    const spec = volume.spec ?? {};
    const kept = spec.claimRef !== undefined;
    if (kept && !isKeptFor(spec, claim)) continue;
    if (!isLargeEnough(claim, volume) || !hasModes(claim, volume)) continue;
    if (spec.volumeMode !== claim.spec?.volumeMode || isLeaving(volume, claim)) continue;
    if (kept) return volume;
    if (volume.status?.phase !== 'Available' || storageClassOf(volume) !== storageClassOf(claim)) continue;
    if (selector && !selector.matches(volume.metadata?.labels)) continue;
    if (best === undefined || comparesLess(volume, best)) best = volume;
  }
  return best;
}

function comparesLess(a: PersistentVolume, b: PersistentVolume): boolean {
  const modes = (a.spec?.accessModes?.length ?? 0) - (b.spec?.accessModes?.length ?? 0);
  const size = compareQuantity(a.spec?.capacity?.storage, b.spec?.capacity?.storage);
  return (modes || size || (nameOf(a) < nameOf(b) ? -1 : 1)) < 0;
}

const nameOf = ({ metadata }: PersistentVolume): string => metadata?.name ?? '';

function isLargeEnough(claim: PersistentVolumeClaim, volume: PersistentVolume): boolean {
  return compareQuantity(volume.spec?.capacity?.storage, claim.spec?.resources?.requests?.storage) >= 0;
}

function hasModes(claim: PersistentVolumeClaim, volume: PersistentVolume): boolean {
  return (claim.spec?.accessModes ?? []).every((mode) => volume.spec?.accessModes?.includes(mode));
}

/** A volume that goes, or is not protected yet, is nobody's new one; a binding that has begun is finished. */
function isLeaving({ metadata, spec }: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  if (spec?.claimRef?.uid && spec.claimRef.uid === claim.metadata?.uid) return false;
  return metadata?.deletionTimestamp !== undefined || !metadata?.finalizers?.includes(finalizers.volumeProtection);
}

function noVolume(storageClass: string): Note {
  if (storageClass === '') {
    const message = 'no persistent volumes available for this claim and no storage class is set';
    return { type: 'Normal', reason: 'FailedBinding', message };
  }
  const message = `storageclass.storage.k8s.io "${storageClass}" not found`;
  return { type: 'Warning', reason: 'ProvisioningFailed', message };
}

/** What a volume needs: a phase, or to be let go because its claim took another one. */
export type VolumeDecision =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'phase';
      readonly status: Pick<PersistentVolumeStatus, 'phase' | 'reason' | 'message'>;
      readonly note?: Note;
    }
  | { readonly kind: 'unbind' };

const free: VolumeDecision = { kind: 'phase', status: { phase: 'Available' } };

/** Decides about a volume; `claim` is the one that its claimRef names, if it exists. Pure. */
export function decideVolume(volume: PersistentVolume, claim: PersistentVolumeClaim | undefined): VolumeDecision {
  const { claimRef } = volume.spec ?? {};
  if (!claimRef?.uid) return free;
  if (claim?.metadata?.uid !== claimRef.uid) return decideReleased(volume);
  const { volumeName } = claim.spec ?? {};
  // The binding is on its way: the claim's turn.
  if (!volumeName) return { kind: 'none' };
  return volumeName === volume.metadata?.name ? { kind: 'phase', status: { phase: 'Bound' } } : { kind: 'unbind' };
}

/** The claim is gone. The data stay where they are, whatever the policy: nothing here deletes what an administrator put on a node. */
function decideReleased({ metadata, spec }: PersistentVolume): VolumeDecision {
  const policy = spec?.persistentVolumeReclaimPolicy;
  if (policy !== 'Delete' && policy !== 'Recycle') return { kind: 'phase', status: { phase: 'Released' } };
  const [verb, reason] = policy === 'Delete' ? ['deletable', 'VolumeFailedDelete'] : ['recyclable', 'VolumeFailedRecycle'];
  const message = `no ${verb} volume plugin matched volume "${metadata?.name}": its data stay where they are; remove them by hand`;
  return { kind: 'phase', status: { phase: 'Failed', reason, message }, note: { type: 'Warning', reason, message } };
}

/** What a volume looks like that belongs to the claim; undefined when it does already. */
export function boundVolume(volume: PersistentVolume, claim: PersistentVolumeClaim): object | undefined {
  const { namespace, name, uid, resourceVersion } = claim.metadata ?? {};
  const { claimRef } = volume.spec ?? {};
  if (claimRef?.uid === uid) return undefined;
  return {
    // A person who keeps a volume for a claim keeps it also when the claim is made anew.
    ...(!claimRef && { metadata: { annotations: { [annotations.boundByController]: 'yes' } } }),
    spec: { claimRef: { kind: 'PersistentVolumeClaim', apiVersion: 'v1', namespace, name, uid, resourceVersion } },
  };
}

/** What a claim looks like that has the volume; undefined when it does already. */
export function boundClaim(claim: PersistentVolumeClaim, volume: PersistentVolume): object | undefined {
  const { metadata, spec } = claim;
  if (spec?.volumeName && metadata?.annotations?.[annotations.bindCompleted] === 'yes') return undefined;
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
