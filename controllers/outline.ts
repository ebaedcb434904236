import type {
  Affinity,
  ContainerStateTerminated,
  ContainerStatus,
  CustomResourceDefinition,
  NodeAffinity,
  ObjectMeta,
  Pod,
  PodCondition,
  PodStatus,
} from '../api/generated/types.ts';
import type { ApiObject } from '../api/kinds/kind.ts';
import { isFinished } from '../api/kinds/pod/lifecycle.ts';
import { controllerOf } from '../api/meta/owner.ts';
import { jobTrackingFinalizer, workloadAnnotations } from '../api/meta/workload-names.ts';
import { affinityElsewhere, asksOf, heldOf } from './pod-asks.ts';

const metadataFields = [
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'deletionTimestamp',
  'ownerReferences',
  'finalizers',
] as const satisfies readonly (keyof ObjectMeta)[];

/** Who an object is, who owns it and what keeps it: all that collecting needs to know, of every object there is. */
export function outlineOf<T extends ApiObject>({ metadata = {} }: T): ApiObject {
  return { metadata: Object.fromEntries(metadataFields.flatMap((field) => (metadata[field] ? [[field, metadata[field]]] : []))) };
}

/** The same of a definition, with what tells the kind that it adds: a schema may be large. */
export function definitionOutline(definition: CustomResourceDefinition): CustomResourceDefinition {
  const { group, scope, names, versions = [] } = definition.spec ?? {};
  const { acceptedNames, conditions = [] } = definition.status ?? {};
  return {
    ...outlineOf(definition),
    spec: { group, scope, names, versions: versions.map(({ name, served, storage }) => ({ name, served, storage })) },
    status: { acceptedNames, conditions: conditions.map(({ type, status }) => ({ type, status })) },
  };
}

/** Annotations that controllers read. */
const podAnnotations = [
  workloadAnnotations.podDeletionCost,
  workloadAnnotations.completionIndex,
  workloadAnnotations.indexFailureCount,
  workloadAnnotations.indexIgnoredFailureCount,
];

/**
 * The same of a pod, with its labels, whether its spec is another, what it asks for, where it is or has to be, which
 * claims it uses, its addresses and named ports, how it stands, and how its containers ended.
 */
export function podOutline(pod: Pod): Pod {
  const { nodeName, affinity, hostname, subdomain, hostNetwork } = pod.spec ?? {};
  const { phase, startTime, conditions = [], podIP, podIPs, hostIP } = pod.status ?? {};
  const { labels, generation, deletionGracePeriodSeconds, annotations = {} } = pod.metadata ?? {};
  const kept = podAnnotations.flatMap((name) => (annotations[name] === undefined ? [] : [[name, annotations[name]] as const]));
  const volumes = (pod.spec?.volumes ?? []).filter(({ volumeSource }) => volumeSource?.persistentVolumeClaim !== undefined);
  const isJudged = controllerOf(pod) !== undefined && !isCountedForJob(pod);
  const { metadata } = outlineOf(pod);
  return {
    metadata: {
      ...metadata,
      ...(labels && { labels }),
      ...(generation && { generation }),
      ...(deletionGracePeriodSeconds !== undefined && { deletionGracePeriodSeconds }),
      ...(kept.length > 0 && { annotations: Object.fromEntries(kept) }),
    },
    spec: {
      ...asksOf(pod),
      ...(nodeName && { nodeName }),
      ...(hostname && { hostname }),
      ...(subdomain && { subdomain }),
      ...(hostNetwork && { hostNetwork }),
      ...(volumes.length > 0 && { volumes }),
      ...affinityOutline(affinity),
    },
    status: {
      ...(phase && { phase }),
      ...(startTime && { startTime }),
      ...(podIP && { podIP }),
      // Mostly the one that podIP says.
      ...(podIPs && podIPs.length > 1 && { podIPs }),
      ...(hostNetwork && hostIP && { hostIP }),
      conditions: conditions.map(conditionOutline),
      ...statusesOutline(pod, isJudged),
    },
  };
}

/** Whether the pod has ended, and its Job knows it: then nothing looks at its containers any more. */
function isCountedForJob(pod: Pod): boolean {
  return isFinished(pod) && controllerOf(pod)?.kind === 'Job' && !pod.metadata?.finalizers?.includes(jobTrackingFinalizer);
}

function affinityOutline(affinity: Affinity | undefined): { affinity?: Affinity } {
  const nodeAffinity = affinity?.nodeAffinity;
  const kept = { ...(nodeAffinity && pinsNode(nodeAffinity) && { nodeAffinity }), ...affinityElsewhere(affinity) };
  return Object.keys(kept).length > 0 ? { affinity: kept } : {};
}

/** Whether the affinity names nodes, as that of a DaemonSet's pod does. */
function pinsNode({ requiredDuringSchedulingIgnoredDuringExecution: required }: NodeAffinity): boolean {
  return required?.nodeSelectorTerms?.some(({ matchFields = [] }) => matchFields.length > 0) === true;
}

function conditionOutline({ type, status, reason, lastTransitionTime }: PodCondition): PodCondition {
  return {
    ...(type && { type }),
    ...(status && { status }),
    ...(reason && { reason }),
    ...(lastTransitionTime && { lastTransitionTime }),
  };
}

/**
 * How the containers of a pod that its owner judges ended; of every pod those that hold something else than they
 * ask for.
 */
function statusesOutline(pod: Pod, isJudged: boolean): Pick<PodStatus, 'initContainerStatuses' | 'containerStatuses'> {
  const kept = (statuses: readonly ContainerStatus[] = []): ContainerStatus[] =>
    statuses.flatMap((status) => {
      const held = heldOf(pod, status);
      return isJudged || Object.keys(held).length > 0 ? [containerOutline(status, held)] : [];
    });
  const [initContainerStatuses, containerStatuses] = [
    kept(pod.status?.initContainerStatuses),
    kept(pod.status?.containerStatuses),
  ];
  return isJudged || initContainerStatuses.length + containerStatuses.length > 0
    ? { initContainerStatuses, containerStatuses }
    : {};
}

function containerOutline({ name, restartCount, state }: ContainerStatus, held: ContainerStatus): ContainerStatus {
  const { terminated } = state ?? {};
  return {
    ...held,
    ...(name && { name }),
    ...(restartCount && { restartCount }),
    ...(terminated && { state: { terminated: { exitCode: terminated.exitCode ?? 0, ...timeOf(terminated) } } }),
  };
}

const timeOf = ({ finishedAt }: ContainerStateTerminated) => (finishedAt ? { finishedAt } : {});
