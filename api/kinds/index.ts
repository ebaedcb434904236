import { apiService } from './api-service/kind.ts';
import { certificateSigningRequest } from './certificate-signing-request/kind.ts';
import { clusterRole } from './cluster-role/kind.ts';
import { clusterRoleBinding } from './cluster-role-binding/kind.ts';
import { configMap } from './config-map/kind.ts';
import { controllerRevision } from './controller-revision/kind.ts';
import { cronJob } from './cron-job/kind.ts';
import { csiDriver } from './csi-driver/kind.ts';
import { csiNode } from './csi-node/kind.ts';
import { csiStorageCapacity } from './csi-storage-capacity/kind.ts';
import { customResourceDefinition } from './custom-resource-definition/kind.ts';
import { daemonSet } from './daemon-set/kind.ts';
import { deployment } from './deployment/kind.ts';
import { endpointSlice } from './endpoint-slice/kind.ts';
import { endpoints } from './endpoints/kind.ts';
import { event } from './event/kind.ts';
import { flowSchema } from './flow-schema/kind.ts';
import { horizontalPodAutoscaler } from './horizontal-pod-autoscaler/kind.ts';
import { groupKindOf, groupOf } from './identity.ts';
import { ingress } from './ingress/kind.ts';
import { ingressClass } from './ingress-class/kind.ts';
import { ipAddress } from './ip-address/kind.ts';
import { job } from './job/kind.ts';
import type { Kind, ObjectOf } from './kind.ts';
import { lease } from './lease/kind.ts';
import { limitRange } from './limit-range/kind.ts';
import { mutatingWebhookConfiguration } from './mutating-webhook-configuration/kind.ts';
import { namespace } from './namespace/kind.ts';
import { networkPolicy } from './network-policy/kind.ts';
import { node } from './node/kind.ts';
import { nodeMetrics } from './node-metrics/kind.ts';
import { nodeNetwork } from './node-network/kind.ts';
import { persistentVolume } from './persistent-volume/kind.ts';
import { persistentVolumeClaim } from './persistent-volume-claim/kind.ts';
import { pod } from './pod/kind.ts';
import { podAddressSlice } from './pod-address-slice/kind.ts';
import { podDisruptionBudget } from './pod-disruption-budget/kind.ts';
import { podTemplate } from './pod-template/kind.ts';
import { priorityClass } from './priority-class/kind.ts';
import { priorityLevelConfiguration } from './priority-level-configuration/kind.ts';
import { replicaSet } from './replica-set/kind.ts';
import { replicationController } from './replication-controller/kind.ts';
import { resourceQuota } from './resource-quota/kind.ts';
import { role } from './role/kind.ts';
import { roleBinding } from './role-binding/kind.ts';
import { runtimeClass } from './runtime-class/kind.ts';
import { secret } from './secret/kind.ts';
import { service } from './service/kind.ts';
import { serviceAccount } from './service-account/kind.ts';
import { serviceCidr } from './service-cidr/kind.ts';
import { statefulSet } from './stateful-set/kind.ts';
import { storageClass } from './storage-class/kind.ts';
import { validatingAdmissionPolicy } from './validating-admission-policy/kind.ts';
import { validatingAdmissionPolicyBinding } from './validating-admission-policy-binding/kind.ts';
import { validatingWebhookConfiguration } from './validating-webhook-configuration/kind.ts';
import { volumeAttachment } from './volume-attachment/kind.ts';

/** Every kind, one line each, in the order of `berth api-resources`. KindMap and kindOf follow from this list. */
const all = [
  namespace,
  node,
  pod,
  podTemplate,
  replicationController,
  deployment,
  replicaSet,
  statefulSet,
  daemonSet,
  controllerRevision,
  job,
  cronJob,
  horizontalPodAutoscaler,
  service,
  endpointSlice,
  endpoints,
  networkPolicy,
  ingress,
  ingressClass,
  serviceCidr,
  ipAddress,
  configMap,
  secret,
  serviceAccount,
  resourceQuota,
  limitRange,
  persistentVolume,
  persistentVolumeClaim,
  storageClass,
  csiDriver,
  csiNode,
  csiStorageCapacity,
  volumeAttachment,
  runtimeClass,
  priorityClass,
  podDisruptionBudget,
  role,
  clusterRole,
  roleBinding,
  clusterRoleBinding,
  certificateSigningRequest,
  customResourceDefinition,
  apiService,
  validatingAdmissionPolicy,
  validatingAdmissionPolicyBinding,
  mutatingWebhookConfiguration,
  validatingWebhookConfiguration,
  flowSchema,
  priorityLevelConfiguration,
  event,
  lease,
  nodeMetrics,
  nodeNetwork,
  podAddressSlice,
] as const;

type AnyKind = (typeof all)[number];

/** The object's type by the kind's name: KindMap['Pod'] is Pod. */
export type KindMap = { [K in AnyKind as K['kind']]: ObjectOf<K> };

export type KindName = keyof KindMap;

/** Every kind, for the machinery that iterates them. */
export const kinds: readonly Kind[] = all;

const byName = new Map<string, Kind>();
for (const kind of kinds) {
  for (const name of [kind.kind, kind.plural, kind.singular, ...kind.shortNames]) byName.set(name.toLowerCase(), kind);
}

/** The kind that a person or a manifest names: kind, plural, singular or short name, in any case. */
export function kindOf(name: string): Kind | undefined {
  return byName.get(name.toLowerCase());
}

/** The descriptor of a kind by its exact name, with its type. */
export function kindNamed<Name extends KindName>(name: Name): Kind<KindMap[Name]> {
  return byName.get(name.toLowerCase()) as Kind as Kind<KindMap[Name]>;
}

/** Whether a kind is the one of Berth's own of that name, and no namesake of another group. */
export function isKind(kind: Pick<Kind, 'kind' | 'apiVersion'>, name: KindName): boolean {
  return kind.kind === name && groupOf(kind.apiVersion) === groupOf(kindNamed(name).apiVersion);
}

/**
 * What the server calls a kind: Berth's own by their names ("Lease"), which no other kind can take, all others with
 * their group ("Toy.toys.example.com").
 */
export function kindId(kind: Pick<Kind, 'kind' | 'apiVersion'>): string {
  return isKindName(kind.kind) && isKind(kind, kind.kind) ? kind.kind : groupKindOf(kind);
}

const names: ReadonlySet<string> = new Set(kinds.map(({ kind }) => kind));

function isKindName(name: string): name is KindName {
  return names.has(name);
}

export type { ApiObject, Column, Durability, Kind, Lifecycle } from './kind.ts';
