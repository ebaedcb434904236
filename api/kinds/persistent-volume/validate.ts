import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, invalidValue, notSupported, required } from '../../errors/violations.ts';
import type { PersistentVolume, PersistentVolumeSpec } from '../../generated/types.ts';
import { equalValues } from '../../meta/equal.ts';
import { checkExactlyOne, checkNoBacksteps, checkOneOf, checkRequired, type Violations } from '../checks.ts';
import { checkFieldSupport, lazyFieldSupport } from '../field-support.ts';
import { checkNodeSelector } from '../pod/validate-scheduling.ts';
import { checkHostPath } from '../pod/validate-volumes.ts';
import { checkAccessModes, checkStorage, checkStorageClass, VOLUME_MODES } from '../storage.ts';
import { persistentVolumeFields } from './fields.ts';

const RECLAIM_POLICIES = ['Delete', 'Recycle', 'Retain'];
const support = lazyFieldSupport('berth.core.v1.PersistentVolume', persistentVolumeFields);

export function validatePersistentVolume(volume: PersistentVolume): FieldViolation[] {
  const { spec = {} } = volume;
  const out: Violations = [];
  checkAccessModes(out, spec.accessModes);
  checkCapacity(out, spec);
  checkSource(out, spec);
  checkOneOf(out, 'spec', '.persistentVolumeReclaimPolicy', spec.persistentVolumeReclaimPolicy, RECLAIM_POLICIES);
  checkStorageClass(out, spec.storageClassName);
  checkOneOf(out, 'spec', '.volumeMode', spec.volumeMode, VOLUME_MODES);
  if (spec.nodeAffinity) {
    if (!spec.nodeAffinity.required) out.push(required('spec.nodeAffinity.required', 'must say which nodes reach the volume'));
    else checkNodeSelector(out, 'spec.nodeAffinity.required', spec.nodeAffinity.required);
  }
  return [...out, ...checkFieldSupport(support(), volume).violations];
}

function checkCapacity(out: Violations, { capacity = {} }: PersistentVolumeSpec): void {
  const names = Object.keys(capacity);
  if (names.length === 0) out.push(required('spec.capacity', 'must say how much "storage" there is'));
  for (const name of names) {
    if (name === 'storage') checkStorage(out, 'spec.capacity[storage]', capacity.storage);
    else out.push(notSupported('spec.capacity', name, ['storage']));
  }
}

function checkSource(out: Violations, spec: PersistentVolumeSpec): void {
  const { hostPath, local } = spec.persistentVolumeSource ?? {};
  checkExactlyOne(out, 'spec', spec.persistentVolumeSource, 'one source: hostPath or local');
  if (hostPath) checkHostPath(out, 'spec.hostPath', hostPath);
  if (hostPath?.path === '/' && spec.persistentVolumeReclaimPolicy === 'Recycle')
    out.push(forbidden('spec.persistentVolumeReclaimPolicy', 'may not be "Recycle" for the hostPath "/"'));
  if (!local) return;
  const { path = '' } = local;
  checkRequired(out, 'spec.local', '.path', path);
  checkNoBacksteps(out, 'spec.local', '.path', path);
  if (path !== '' && !path.startsWith('/')) out.push(invalidValue('spec.local.path', path, 'must be an absolute path'));
  if (!spec.nodeAffinity) out.push(required('spec.nodeAffinity', 'a local volume is on certain nodes'));
}

/** Where the data is does not change, and from where it is reached only once. */
export function validatePersistentVolumeUpdate(next: PersistentVolume, previous: PersistentVolume): FieldViolation[] {
  const out: Violations = [];
  const [now, was] = [next.spec ?? {}, previous.spec ?? {}];
  if (!equalValues(now.persistentVolumeSource, was.persistentVolumeSource))
    out.push(forbidden('spec.persistentvolumesource', 'the source of a volume cannot change; make another volume'));
  if (now.volumeMode !== was.volumeMode) out.push(invalidValue('spec.volumeMode', now.volumeMode, 'cannot change'));
  if (was.nodeAffinity && !equalValues(now.nodeAffinity, was.nodeAffinity))
    out.push(forbidden('spec.nodeAffinity', 'cannot change once it is set; make another volume'));
  return out;
}
