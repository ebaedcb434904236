import type { PersistentVolumeClaim } from '../../generated/types.ts';

export function defaultPersistentVolumeClaim({ spec }: PersistentVolumeClaim): void {
  if (spec) spec.volumeMode ||= 'Filesystem';
}
