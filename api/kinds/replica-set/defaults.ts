import type { ReplicaSet } from '../../generated/types.ts';
import { defaultTemplate } from '../pod-template/defaults.ts';

export function defaultReplicaSet(object: ReplicaSet): void {
  object.spec ??= {};
  object.spec.replicas ??= 1;
  defaultTemplate(object.spec.template);
}
