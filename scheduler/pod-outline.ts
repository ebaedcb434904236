import type { Container, ContainerStatus, ObjectMeta, Pod, PodSpec, PodStatus } from '../api/generated/types.ts';
import { createSharing } from '../api/meta/sharing.ts';
import { annotations as wellKnown } from '../api/meta/well-known.ts';

type Names = ReadonlySet<string>;

const namesOf = <T>(...names: (keyof T & string)[]): Names => new Set(names);

/** Left out: what placing a pod never asks, which is how its containers run; and what is kept in a form of its own. */
const without = {
  metadata: namesOf<ObjectMeta>('managedFields', 'annotations'),
  spec: namesOf<PodSpec>('ephemeralContainers', 'containers', 'initContainers'),
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
  status: namesOf<PodStatus>(
    'hostIP',
    'hostIPs',
    'podIP',
    'podIPs',
    'message',
    'conditions',
    'containerStatuses',
    'initContainerStatuses',
    'ephemeralContainerStatuses',
  ),
};

/** Of the conditions those that say where the pod stands; how its containers do changes with every probe. */
const readConditions: Names = new Set(['PodScheduled', 'DisruptionTarget', 'PodResizePending']);

/** Texts that no other pod has. */
const ownTexts = namesOf<ObjectMeta>('name', 'uid', 'resourceVersion');

/**
 * So many different parts, and as many texts, are remembered for sharing, and those before them:
 * more than there are nodes and kinds of pods.
 */
const rememberedParts = 8_192;

/**
 * Gives of each pod what placing pods asks about, as small as it can be: without what is never read, and with its parts
 * (containers, labels, tolerations, ...) shared with all pods that have equal ones, as copies of one workload have.
 * What it is given, it does not change. The scheduler holds every pod of the cluster, so this decides how much memory
 * it needs.
 */
export function createPodOutline({ remembered = rememberedParts } = {}): (pod: Pod) => Pod {
  const parts = createSharing<object>(remembered);
  const texts = createSharing<string>(remembered);

  function shared<T>(value: T): T {
    if (typeof value === 'string') return texts(value, value) as T;
    return typeof value === 'object' && value !== null ? (parts(JSON.stringify(value), value) as T) : value;
  }

  function fields<T extends object>(value: T, without: Names): T {
    const kept: Partial<T> = {};
    for (const name in value) if (!without.has(name)) kept[name] = ownTexts.has(name) ? value[name] : shared(value[name]);
    return kept as T;
  }

  function outlineMetadata(metadata: ObjectMeta): ObjectMeta {
    const kept = fields(metadata, without.metadata);
    if (metadata.annotations) {
      // The whole manifest once more.
      const { [wellKnown.lastApplied]: _, ...notes } = metadata.annotations;
      if (Object.keys(notes).length > 0) kept.annotations = shared(notes);
    }
    return kept;
  }

  /** Their texts are not shared one by one: their list is, as a whole. */
  function outlineContainers(containers: readonly Container[]): Container[] {
    return shared(
      containers.map((container) => {
        const kept: Partial<Record<string, unknown>> = {};
        for (const name in container) if (!without.container.has(name)) kept[name] = container[name as keyof Container];
        return kept as Container;
      }),
    );
  }

  function outlineSpec(spec: PodSpec): PodSpec {
    const kept = fields(spec, without.spec);
    if (spec.containers) kept.containers = outlineContainers(spec.containers);
    if (spec.initContainers) kept.initContainers = outlineContainers(spec.initContainers);
    return kept;
  }

  function outlineStatus(status: PodStatus): PodStatus {
    const kept = fields(status, without.status);
    const read = status.conditions?.filter(({ type = '' }) => readConditions.has(type)) ?? [];
    if (read.length > 0) kept.conditions = shared(read);
    const held = heldResources(status.containerStatuses);
    if (held.length > 0) kept.containerStatuses = shared(held);
    const heldByInit = heldResources(status.initContainerStatuses);
    if (heldByInit.length > 0) kept.initContainerStatuses = shared(heldByInit);
    return kept;
  }

  return ({ metadata, spec, status }) => {
    // Field by field: V8 gives every object that is made of several spreads a shape of its own,
    // which takes more than the object.
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
