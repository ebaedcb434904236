import type { StorageClass } from '../../generated/types.ts';

export function defaultStorageClass(storageClass: StorageClass): void {
  storageClass.reclaimPolicy ||= 'Delete';
  storageClass.volumeBindingMode ||= 'Immediate';
}
