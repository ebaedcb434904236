import type { PersistentVolume, PersistentVolumeClaim, StorageClass, TopologySelectorTerm } from '../generated/types.ts';
import { compileLabelSelector } from '../meta/labels.ts';
import { compareQuantity } from '../meta/quantity.ts';
import { annotations, finalizers } from '../meta/well-known.ts';
import type { NodePredicate } from './node/selector.ts';
import { storageClassOf } from './storage.ts';

/** Whether claims of the class get their volume only when a pod needs it, where that pod goes. */
export function waitsForConsumer(storageClass: StorageClass | undefined): boolean {
  return storageClass?.volumeBindingMode === 'WaitForFirstConsumer';
}

/** Whether the claim has its volume for good, on both sides. */
export function isBound({ metadata, spec }: PersistentVolumeClaim): boolean {
  return Boolean(spec?.volumeName) && metadata?.annotations?.[annotations.bindCompleted] === 'yes';
}

export function isLargeEnough(claim: PersistentVolumeClaim, volume: PersistentVolume): boolean {
  return compareQuantity(volume.spec?.capacity?.storage, claim.spec?.resources?.requests?.storage) >= 0;
}

export function hasModes(claim: PersistentVolumeClaim, volume: PersistentVolume): boolean {
  return (claim.spec?.accessModes ?? []).every((mode) => volume.spec?.accessModes?.includes(mode));
}

/** A volume that goes, or is not protected yet, is bound to no new claim; a binding that has begun is finished. */
export function isLeaving({ metadata, spec }: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  if (spec?.claimRef?.uid && spec.claimRef.uid === claim.metadata?.uid) return false;
  return metadata?.deletionTimestamp !== undefined || !metadata?.finalizers?.includes(finalizers.volumeProtection);
}

/** Whether a volume holds what the claim asks for, and can be given away. */
export function satisfies(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const sameMode = volume.spec?.volumeMode === claim.spec?.volumeMode;
  return sameMode && isLargeEnough(claim, volume) && hasModes(claim, volume) && !isLeaving(volume, claim);
}

/** Which free volumes the claim may choose from: those of its class that it selects and that satisfy it. */
export function compileChoice(claim: PersistentVolumeClaim): (volume: PersistentVolume) => boolean {
  const selector = claim.spec?.selector && compileLabelSelector(claim.spec.selector);
  const storageClass = storageClassOf(claim);
  return (volume) =>
    volume.spec?.claimRef === undefined &&
    volume.status?.phase === 'Available' &&
    storageClassOf(volume) === storageClass &&
    satisfies(volume, claim) &&
    (selector === undefined || selector.matches(volume.metadata?.labels));
}

/**
 * Kubernetes' preference: the fewest access modes, then the smallest. Equal ones by name, so that the choice can be
 * repeated.
 */
export function compareVolumes(a: PersistentVolume, b: PersistentVolume): number {
  const modes = (a.spec?.accessModes?.length ?? 0) - (b.spec?.accessModes?.length ?? 0);
  const size = compareQuantity(a.spec?.capacity?.storage, b.spec?.capacity?.storage);
  return modes || size || ((a.metadata?.name ?? '') < (b.metadata?.name ?? '') ? -1 : 1);
}

/** On which nodes a class has its volumes made; undefined: on all. */
export function compileTopologies(terms: readonly TopologySelectorTerm[] | undefined): NodePredicate | undefined {
  if (!terms?.length) return undefined;
  return ({ metadata }) =>
    terms.some(({ matchLabelExpressions = [] }) =>
      matchLabelExpressions.every(({ key = '', values = [] }) => values.includes(metadata?.labels?.[key] ?? '\0')),
    );
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

/** For indexes of volumes: the free ones by their class, and all by the claim that has them. */
export const volumeIndexers = {
  freeClass: (volume: PersistentVolume): readonly string[] => (volume.spec?.claimRef ? [] : [storageClassOf(volume)]),
  claim: ({ spec }: PersistentVolume): readonly string[] =>
    spec?.claimRef ? [`${spec.claimRef.namespace ?? ''}/${spec.claimRef.name ?? ''}`] : [],
};
