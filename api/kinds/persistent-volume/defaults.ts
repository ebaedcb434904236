import type { PersistentVolume } from '../../generated/types.ts';

export function defaultPersistentVolume({ spec }: PersistentVolume): void {
  if (!spec) return;
  spec.persistentVolumeReclaimPolicy ||= 'Retain';
  spec.volumeMode ||= 'Filesystem';
  const { hostPath } = spec.persistentVolumeSource ?? {};
  if (hostPath) hostPath.type ??= '';
  if (spec.claimRef) spec.claimRef.apiVersion ||= 'v1';
  if (spec.claimRef) spec.claimRef.kind ||= 'PersistentVolumeClaim';
}
