import type {
  ContainerStateTerminated,
  ContainerStatus,
  NodeAffinity,
  ObjectMeta,
  Pod,
  PodCondition,
} from '../api/generated/types.ts';
import type { ApiObject } from '../api/kinds/kind.ts';
import { workloadAnnotations } from '../api/meta/workload-names.ts';

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

/** Annotations that controllers read. */
const podAnnotations = [
  workloadAnnotations.podDeletionCost,
  workloadAnnotations.completionIndex,
  workloadAnnotations.indexFailureCount,
  workloadAnnotations.indexIgnoredFailureCount,
];

/**
 * The same of a pod, with its labels, whether its spec is another, where it is or has to be, which claims it uses, how
 * it stands, and how its containers ended.
 */
export function podOutline(pod: Pod): Pod {
  const { nodeName, affinity } = pod.spec ?? {};
  const { phase, startTime, conditions = [], initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  const { labels, generation, annotations = {} } = pod.metadata ?? {};
  const kept = podAnnotations.flatMap((name) => (annotations[name] === undefined ? [] : [[name, annotations[name]] as const]));
  const volumes = (pod.spec?.volumes ?? []).filter(({ volumeSource }) => volumeSource?.persistentVolumeClaim !== undefined);
  const isOwned = pod.metadata?.ownerReferences?.some(({ controller }) => controller === true);
  const { metadata } = outlineOf(pod);
  return {
    metadata: {
      ...metadata,
      ...(labels && { labels }),
      ...(generation && { generation }),
      ...(kept.length > 0 && { annotations: Object.fromEntries(kept) }),
    },
    spec: {
      ...(nodeName && { nodeName }),
      ...(volumes.length > 0 && { volumes }),
      ...(affinity?.nodeAffinity && pinsNode(affinity.nodeAffinity) && { affinity: { nodeAffinity: affinity.nodeAffinity } }),
    },
    status: {
      ...(phase && { phase }),
      ...(startTime && { startTime }),
      conditions: conditions.map(conditionOutline),
      ...(isOwned && {
        initContainerStatuses: initContainerStatuses.map(containerOutline),
        containerStatuses: containerStatuses.map(containerOutline),
      }),
    },
  };
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

function containerOutline({ name, restartCount, state }: ContainerStatus): ContainerStatus {
  const { terminated } = state ?? {};
  return {
    ...(name && { name }),
    ...(restartCount && { restartCount }),
    ...(terminated && { state: { terminated: { exitCode: terminated.exitCode ?? 0, ...timeOf(terminated) } } }),
  };
}

const timeOf = ({ finishedAt }: ContainerStateTerminated) => (finishedAt ? { finishedAt } : {});
