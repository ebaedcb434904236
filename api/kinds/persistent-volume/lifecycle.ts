import type { PersistentVolume } from '../../generated/types.ts';
import type { Lifecycle } from '../kind.ts';

export const persistentVolumeLifecycle: Lifecycle<PersistentVolume> = {
  prepareForCreate(volume) {
    volume.status = { phase: 'Pending' };
  },
};
