import type { KindName } from '../../api/kinds/index.ts';
import { describeConfigMap } from './config-map.ts';
import type { Describer } from './describer.ts';
import { describeGeneric } from './generic.ts';
import { describeNamespace } from './namespace.ts';
import { describeNode } from './node.ts';
import { describeNodeMetrics } from './node-metrics.ts';
import { describePersistentVolume } from './persistent-volume.ts';
import { describePersistentVolumeClaim } from './persistent-volume-claim.ts';
import { describePod } from './pod.ts';
import { describePodDisruptionBudget } from './pod-disruption-budget.ts';
import { describePriorityClass } from './priority-class.ts';
import { describeSecret } from './secret.ts';
import { describeStorageClass } from './storage-class.ts';

/** The kinds that say more about themselves than all their fields would. */
const describers: Partial<Record<KindName, Describer>> = {
  ConfigMap: describeConfigMap,
  Namespace: describeNamespace,
  Node: describeNode,
  NodeMetrics: describeNodeMetrics,
  PersistentVolume: describePersistentVolume,
  PersistentVolumeClaim: describePersistentVolumeClaim,
  Pod: describePod,
  PodDisruptionBudget: describePodDisruptionBudget,
  PriorityClass: describePriorityClass,
  Secret: describeSecret,
  StorageClass: describeStorageClass,
};

/** How objects of a kind are described: in its own way, or field by field. */
export function describerOf(kindName: string): Describer {
  return describers[kindName as KindName] ?? describeGeneric;
}
