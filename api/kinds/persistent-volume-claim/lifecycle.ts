import type { PersistentVolumeClaim } from '../../generated/types.ts';
import type { Lifecycle } from '../kind.ts';

export const persistentVolumeClaimLifecycle: Lifecycle<PersistentVolumeClaim> = {
  prepareForCreate(claim) {
    claim.status = { phase: 'Pending' };
  },
};
