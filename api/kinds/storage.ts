import { forbidden, invalidValue, notSupported, required } from '../errors/violations.ts';
import type { PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec, Pod, Quantity } from '../generated/types.ts';
import { subdomainNameError } from '../meta/names.ts';
import { compareQuantity } from '../meta/quantity.ts';
import { annotations } from '../meta/well-known.ts';
import { checkRule, type Violations } from './checks.ts';
import { amountError } from './quantities.ts';

const SHORT = { ReadWriteOnce: 'RWO', ReadOnlyMany: 'ROX', ReadWriteMany: 'RWX', ReadWriteOncePod: 'RWOP' } as const;
export const ACCESS_MODES = Object.keys(SHORT) as (keyof typeof SHORT)[];
export const VOLUME_MODES = ['Block', 'Filesystem'];

/** The access modes as a table shows them: "RWO,ROX", each once, in this order. */
export function accessModesCell(modes: readonly string[] | undefined): string {
  return ACCESS_MODES.filter((mode) => modes?.includes(mode))
    .map((mode) => SHORT[mode])
    .join(',');
}

/** The class by its field or by the annotation that came before it; "" for none. */
export function storageClassOf({ metadata, spec }: PersistentVolume | PersistentVolumeClaim): string {
  return metadata?.annotations?.[annotations.betaStorageClass] ?? spec?.storageClassName ?? '';
}

/**
 * Whether a volume is kept for this claim: its claimRef names it, and the claim is that very one, or its uid is not set
 * yet.
 */
export function isKeptFor({ claimRef }: PersistentVolumeSpec, { metadata = {} }: PersistentVolumeClaim): boolean {
  if (claimRef?.name !== metadata.name || claimRef?.namespace !== metadata.namespace) return false;
  return !claimRef?.uid || claimRef.uid === metadata.uid;
}

/** Where the scheduler wants the volume of a claim that waits for a pod; undefined while it has not chosen. */
export function selectedNode(claim: PersistentVolumeClaim | undefined): string | undefined {
  return claim?.metadata?.annotations?.[annotations.selectedNode];
}

/** The names of the claims that a pod uses, in its namespace. */
export function claimsOf(pod: Pod): string[] {
  return (pod.spec?.volumes ?? []).flatMap(({ volumeSource }) => volumeSource?.persistentVolumeClaim?.claimName || []);
}

export function checkAccessModes(out: Violations, modes: readonly string[] | undefined): void {
  if (!modes?.length) out.push(required('spec.accessModes', 'at least one'));
  modes?.forEach((mode, i) => {
    if (!(ACCESS_MODES as readonly string[]).includes(mode)) out.push(notSupported(`spec.accessModes[${i}]`, mode, ACCESS_MODES));
  });
  if (modes?.includes('ReadWriteOncePod') && new Set(modes).size > 1)
    out.push(forbidden('spec.accessModes', 'ReadWriteOncePod may not stand beside other access modes'));
}

/** An amount of storage: more than nothing. */
export function checkStorage(out: Violations, field: string, amount: Quantity | undefined): void {
  const rule = amountError(amount);
  if (rule !== undefined) out.push(invalidValue(field, amount?.string, rule));
  else if (compareQuantity(amount, '0') === 0) out.push(invalidValue(field, amount?.string, 'must be greater than zero'));
}

export function checkStorageClass(out: Violations, name: string | undefined): void {
  if (name) checkRule(out, 'spec', '.storageClassName', name, subdomainNameError(name));
}
