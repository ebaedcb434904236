import type { KindName } from '../../api/kinds/index.ts';
import { describeLimitRange, describeResourceQuota } from './bounds.ts';
import { describeConfigMap } from './config-map.ts';
import { describeDaemonSet } from './daemon-set.ts';
import { describeDeployment } from './deployment.ts';
import type { Describer } from './describer.ts';
import { describeGeneric } from './generic.ts';
import { describeHorizontalPodAutoscaler } from './horizontal-pod-autoscaler.ts';
import { describeIngress, describeIngressClass } from './ingress.ts';
import { describeCronJob, describeJob } from './job.ts';
import { describeNamespace } from './namespace.ts';
import { describeNetworkPolicy } from './network-policy.ts';
import { describeNode } from './node.ts';
import { describeNodeMetrics } from './node-metrics.ts';
import { describePersistentVolume } from './persistent-volume.ts';
import { describePersistentVolumeClaim } from './persistent-volume-claim.ts';
import { describePod } from './pod.ts';
import { describePodDisruptionBudget } from './pod-disruption-budget.ts';
import { describePriorityClass } from './priority-class.ts';
import { describeReplicaSet, describeReplicationController } from './replica-set.ts';
import { describeSecret } from './secret.ts';
import { describeEndpointSlice, describeEndpoints, describeService } from './service.ts';
import { describeStatefulSet } from './stateful-set.ts';
import { describeStorageClass } from './storage-class.ts';
import { describeControllerRevision, describePodTemplate } from './templates.ts';

/** The kinds that say more about themselves than all their fields would. */
const describers: Partial<Record<KindName, Describer>> = {
  ConfigMap: describeConfigMap,
  ControllerRevision: describeControllerRevision,
  CronJob: describeCronJob,
  DaemonSet: describeDaemonSet,
  Deployment: describeDeployment,
  EndpointSlice: describeEndpointSlice,
  Endpoints: describeEndpoints,
  HorizontalPodAutoscaler: describeHorizontalPodAutoscaler,
  Ingress: describeIngress,
  IngressClass: describeIngressClass,
  Job: describeJob,
  LimitRange: describeLimitRange,
  Namespace: describeNamespace,
  NetworkPolicy: describeNetworkPolicy,
  Node: describeNode,
  NodeMetrics: describeNodeMetrics,
  PersistentVolume: describePersistentVolume,
  PersistentVolumeClaim: describePersistentVolumeClaim,
  Pod: describePod,
  PodDisruptionBudget: describePodDisruptionBudget,
  PodTemplate: describePodTemplate,
  PriorityClass: describePriorityClass,
  ReplicaSet: describeReplicaSet,
  ReplicationController: describeReplicationController,
  ResourceQuota: describeResourceQuota,
  Secret: describeSecret,
  Service: describeService,
  StatefulSet: describeStatefulSet,
  StorageClass: describeStorageClass,
};

/** How objects of a kind are described: in its own way, or field by field. */
export function describerOf(kindName: string): Describer {
  return describers[kindName as KindName] ?? describeGeneric;
}
