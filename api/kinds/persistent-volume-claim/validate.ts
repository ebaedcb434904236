import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, invalidValue, required } from '../../errors/violations.ts';
import type { PersistentVolumeClaim, PersistentVolumeClaimSpec } from '../../generated/types.ts';
import { differencesByMember } from '../../meta/equal.ts';
import { annotations } from '../../meta/well-known.ts';
import { checkOneOf, type Violations } from '../checks.ts';
import { checkFieldSupport, lazyFieldSupport } from '../field-support.ts';
import { validateQuantities } from '../quantities.ts';
import { checkLabelSelector } from '../selectors.ts';
import { checkAccessModes, checkStorage, checkStorageClass, VOLUME_MODES } from '../storage.ts';
import { persistentVolumeClaimFields } from './fields.ts';

const support = lazyFieldSupport('berth.core.v1.PersistentVolumeClaim', persistentVolumeClaimFields);

export function validatePersistentVolumeClaim(claim: PersistentVolumeClaim): FieldViolation[] {
  const { spec = {} } = claim;
  const out: Violations = [];
  checkAccessModes(out, spec.accessModes);
  checkLabelSelector(out, 'spec.selector', spec.selector);
  const storage = spec.resources?.requests?.storage;
  if (storage === undefined) out.push(required('spec.resources[storage]', 'say in requests how much storage is needed'));
  else checkStorage(out, 'spec.resources[storage]', storage);
  out.push(...validateQuantities('spec.resources.limits', spec.resources?.limits));
  checkStorageClass(out, spec.storageClassName);
  checkOneOf(out, 'spec', '.volumeMode', spec.volumeMode, VOLUME_MODES);
  return [...out, ...checkFieldSupport(support(), claim).violations];
}

const CHANGEABLE = 'a claim cannot change; only a volume name or class that was not set can be set, once';

/** A claim keeps what it asks for: volumes are chosen by it. The volume is set once, by the controller or a user. */
export function validatePersistentVolumeClaimUpdate(
  next: PersistentVolumeClaim,
  previous: PersistentVolumeClaim,
): FieldViolation[] {
  const out: Violations = [];
  const [now, was] = [next.spec ?? {}, previous.spec ?? {}];
  if (now.volumeMode !== was.volumeMode) out.push(invalidValue('spec.volumeMode', now.volumeMode, 'cannot change'));
  const allowed: PersistentVolumeClaimSpec = { ...was, volumeMode: now.volumeMode };
  if (!was.volumeName) allowed.volumeName = now.volumeName;
  if (mayGetClass(next, previous)) allowed.storageClassName = now.storageClassName;
  for (const difference of differencesByMember(now, allowed)) {
    const grows = difference.startsWith('.resources');
    const why = grows ? 'the volumes of claims are not made larger; claim a larger volume' : CHANGEABLE;
    // A quantity is a text in a message of its own; its field is the quantity.
    out.push(forbidden(`spec${difference.replace(/\.string$/, '')}`, why));
  }
  return out;
}

function mayGetClass(next: PersistentVolumeClaim, previous: PersistentVolumeClaim): boolean {
  const named = (claim: PersistentVolumeClaim) => claim.metadata?.annotations?.[annotations.betaStorageClass] !== undefined;
  const isBound = Boolean(previous.spec?.volumeName);
  return !named(next) && !named(previous) && !isBound && previous.spec?.storageClassName === undefined;
}
