import type {
  Affinity,
  ContainerStateTerminated,
  ContainerStatus,
  CustomResourceDefinition,
  NodeAffinity,
  ObjectMeta,
  Pod,
  PodCondition,
  PodSpec,
  PodStatus,
} from '../api/generated/types.ts';
import type { ApiObject } from '../api/kinds/kind.ts';
import { isFinished } from '../api/kinds/pod/lifecycle.ts';
import { controllerOf } from '../api/meta/owner.ts';
import { createSharing } from '../api/meta/sharing.ts';
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
  const kept: Partial<Record<string, unknown>> = {};
  for (const field of metadataFields) if (metadata[field]) kept[field] = metadata[field];
  return { metadata: kept as ObjectMeta };
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

/** Texts and parts that many pods have: more than there are nodes and templates. */
const remembered = 10_000;
const texts = createSharing<string>(remembered);
const parts = createSharing<object>(remembered);

const sharedText = (text: string): string => texts(text, text);
const shared = <P extends object>(part: P): P => parts(JSON.stringify(part), part) as P;

/**
 * The same of a pod, with its labels, whether its spec is another, what it asks for, where it is or has to be, which
 * claims it uses, its addresses and named ports, how it stands, and how its containers ended. Parts that are equal in
 * all pods of one owner are kept once. Made field by field: V8 gives every object that is made of several spreads a
 * shape of its own, which takes more than the object.
 */
export function podOutline(pod: Pod): Pod {
  return { metadata: outlineMetadata(pod), spec: outlineSpec(pod), status: outlineStatus(pod) };
}

function outlineMetadata(pod: Pod): ObjectMeta {
  const { labels, generation, deletionGracePeriodSeconds, annotations = {} } = pod.metadata ?? {};
  const kept = outlineOf(pod).metadata!;
  if (kept.namespace) kept.namespace = sharedText(kept.namespace);
  if (kept.ownerReferences) kept.ownerReferences = shared(kept.ownerReferences);
  if (labels) kept.labels = shared(labels);
  if (generation) kept.generation = generation;
  if (deletionGracePeriodSeconds !== undefined) kept.deletionGracePeriodSeconds = deletionGracePeriodSeconds;
  const read = podAnnotations.filter((name) => annotations[name] !== undefined);
  if (read.length > 0) kept.annotations = Object.fromEntries(read.map((name) => [name, annotations[name]!]));
  return kept;
}

function outlineSpec(pod: Pod): PodSpec {
  const { nodeName, affinity, hostname, subdomain, hostNetwork } = pod.spec ?? {};
  const volumes = (pod.spec?.volumes ?? []).filter(({ volumeSource }) => volumeSource?.persistentVolumeClaim !== undefined);
  const kept: PodSpec = Object.assign({}, asksOf(pod));
  if (nodeName) kept.nodeName = sharedText(nodeName);
  if (hostname) kept.hostname = hostname;
  if (subdomain) kept.subdomain = subdomain;
  if (hostNetwork) kept.hostNetwork = hostNetwork;
  if (volumes.length > 0) kept.volumes = volumes;
  return Object.assign(kept, affinityOutline(affinity));
}

function outlineStatus(pod: Pod): PodStatus {
  const { phase, startTime, conditions = [], podIP, podIPs, hostIP } = pod.status ?? {};
  const kept: PodStatus = {};
  if (phase) kept.phase = sharedText(phase);
  if (startTime) kept.startTime = startTime;
  if (podIP) kept.podIP = podIP;
  // Mostly the one that podIP says.
  if (podIPs && podIPs.length > 1) kept.podIPs = podIPs;
  if (pod.spec?.hostNetwork && hostIP) kept.hostIP = sharedText(hostIP);
  kept.conditions = conditions.map(conditionOutline);
  const isJudged = controllerOf(pod) !== undefined && !isCountedForJob(pod);
  return Object.assign(kept, statusesOutline(pod, isJudged));
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
  const kept: PodCondition = {};
  if (type) kept.type = sharedText(type);
  if (status) kept.status = sharedText(status);
  if (reason) kept.reason = sharedText(reason);
  if (lastTransitionTime) kept.lastTransitionTime = lastTransitionTime;
  return kept;
}

/**
 * How the containers of a pod that its owner judges ended; of every pod those that hold something else than they
 * ask for.
 */
function statusesOutline(pod: Pod, isJudged: boolean): Pick<PodStatus, 'initContainerStatuses' | 'containerStatuses'> {
  const kept = (statuses: readonly ContainerStatus[] = []): ContainerStatus[] => {
    const outlines = statuses.flatMap((status) => {
      const held = heldOf(pod, status);
      return isJudged || Object.keys(held).length > 0 ? [containerOutline(status, held)] : [];
    });
    return outlines.some(({ state }) => state) ? outlines : shared(outlines);
  };
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
