import type { Container, ContainerStatus, ObjectMeta, Pod, PodSpec, PodStatus } from '../api/generated/types.ts';
import { annotations as wellKnown } from '../api/meta/well-known.ts';
import { createLru, type Lru } from '../client/lru.ts';

type Names = ReadonlySet<string>;

const namesOf = <T>(...names: (keyof T & string)[]): Names => new Set(names);

/** What placing a pod never asks: how its containers run, and what the agent says of them while they do. */
const unread = {
  metadata: namesOf<ObjectMeta>('managedFields'),
  spec: namesOf<PodSpec>('ephemeralContainers'),
  container: namesOf<Container>(
    'command',
    'args',
    'env',
    'envFrom',
    'volumeMounts',
    'volumeDevices',
    'livenessProbe',
    'readinessProbe',
    'startupProbe',
    'lifecycle',
    'terminationMessagePath',
    'terminationMessagePolicy',
  ),
  status: namesOf<PodStatus>('hostIP', 'hostIPs', 'podIP', 'podIPs', 'message', 'ephemeralContainerStatuses'),
};

/** Of the conditions those that say where the pod stands; how its containers do changes with every probe. */
const readConditions: Names = new Set(['PodScheduled', 'DisruptionTarget', 'PodResizePending']);

/** Texts that no other pod has. */
const ownTexts = namesOf<ObjectMeta>('name', 'uid', 'resourceVersion');

/**
 * So many different parts and as many texts are remembered for sharing, those used last: more than nodes have names and workloads have parts. One
 * that is forgotten is kept once more.
 */
const rememberedParts = 16_384;

/**
 * Gives of each pod what placing pods asks about, as small as it can be: without what is never read, and with its parts (containers, labels,
 * tolerations, ...) shared with all pods that have equal ones, as copies of one workload have. What it is given, it does not change. The scheduler
 * holds every pod of the cluster, so this decides how much memory it needs.
 */
export function createPodOutline({ remembered: size = rememberedParts } = {}): (pod: Pod) => Pod {
  const parts = createLru<object>(size);
  const texts = createLru<string>(size);

  function shared<T>(value: T): T {
    if (typeof value === 'string') return remembered(texts, value, value);
    return typeof value === 'object' && value !== null ? remembered(parts, JSON.stringify(value), value) : value;
  }

  /** The fields that are read, all shared but `own`. */
  function fields<T extends object>(value: T, unread: Names, own?: Names): T {
    const kept: Partial<T> = {};
    for (const name in value) if (!unread.has(name)) kept[name] = own?.has(name) ? value[name] : shared(value[name]);
    return kept as T;
  }

  function outlineMetadata({ annotations = {}, ...metadata }: ObjectMeta): ObjectMeta {
    const kept: ObjectMeta = fields(metadata, unread.metadata, ownTexts);
    // The whole manifest once more.
    const { [wellKnown.lastApplied]: _, ...notes } = annotations;
    if (Object.keys(notes).length > 0) kept.annotations = shared(notes);
    return kept;
  }

  const outlineContainers = (containers: readonly Container[]): Container[] =>
    shared(containers.map((container) => fields(container, unread.container)));

  function outlineSpec({ containers, initContainers, ...spec }: PodSpec): PodSpec {
    const kept: PodSpec = fields(spec, unread.spec);
    if (containers) kept.containers = outlineContainers(containers);
    if (initContainers) kept.initContainers = outlineContainers(initContainers);
    return kept;
  }

  function outlineStatus({ conditions, containerStatuses, initContainerStatuses, ...status }: PodStatus): PodStatus {
    const kept: PodStatus = fields(status, unread.status);
    const read = conditions?.filter(({ type = '' }) => readConditions.has(type)) ?? [];
    if (read.length > 0) kept.conditions = shared(read);
    const held = heldResources(containerStatuses);
    if (held.length > 0) kept.containerStatuses = shared(held);
    const heldByInit = heldResources(initContainerStatuses);
    if (heldByInit.length > 0) kept.initContainerStatuses = shared(heldByInit);
    return kept;
  }

  return ({ metadata, spec, status }) => {
    // Field by field: V8 gives every object that is made of several spreads a shape of its own, which takes more than the object.
    const outline: Pod = {};
    if (metadata) outline.metadata = outlineMetadata(metadata);
    if (spec) outline.spec = outlineSpec(spec);
    if (status) outline.status = outlineStatus(status);
    return outline;
  };
}

/** What containers were given or have, while that may be something else than they ask for. */
function heldResources(statuses: readonly ContainerStatus[] = []): ContainerStatus[] {
  return statuses.flatMap(({ name, allocatedResources, resources }) =>
    (allocatedResources ?? resources?.requests) ? [{ name, allocatedResources, resources } as ContainerStatus] : [],
  );
}

function remembered<T, V extends T>(known: Lru<T & {}>, key: string, value: V): V {
  const same = known.get(key);
  if (same !== undefined) return same as V;
  known.set(key, value as T & {});
  return value;
}
