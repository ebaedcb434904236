import type { StatefulSet, StatefulSetSpec } from '../../generated/types.ts';
import { defaultPersistentVolumeClaim } from '../persistent-volume-claim/defaults.ts';
import { defaultTemplate } from '../pod-template/defaults.ts';

export function defaultStatefulSet(object: StatefulSet): void {
  object.spec ??= {};
  const { spec } = object;
  spec.replicas ??= 1;
  spec.podManagementPolicy ||= 'OrderedReady';
  spec.revisionHistoryLimit ??= 10;
  defaultStrategy(spec);
  spec.persistentVolumeClaimRetentionPolicy ??= {};
  spec.persistentVolumeClaimRetentionPolicy.whenDeleted ||= 'Retain';
  spec.persistentVolumeClaimRetentionPolicy.whenScaled ||= 'Retain';
  defaultTemplate(spec.template);
  spec.volumeClaimTemplates?.forEach((claim) => {
    defaultPersistentVolumeClaim(claim);
    claim.status ??= {};
    claim.status.phase ||= 'Pending';
  });
}

function defaultStrategy(spec: StatefulSetSpec): void {
  spec.updateStrategy ??= {};
  const { updateStrategy } = spec;
  if (!updateStrategy.type) {
    updateStrategy.type = 'RollingUpdate';
    updateStrategy.rollingUpdate ??= {};
  }
  if (updateStrategy.type === 'RollingUpdate' && updateStrategy.rollingUpdate) updateStrategy.rollingUpdate.partition ??= 0;
}
