import type { Container, Pod, PodStatus, ResourceRequirements } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { equalResources } from '../../api/kinds/pod/resize.ts';
import type { Amounts } from '../../api/kinds/pod/resources.ts';
import type { Clock } from '../../client/clock.ts';
import { computeLimits } from '../config/container-config.ts';
import type { ContainerLimits, ContainerRuntime, ObservedContainer } from '../runtime/runtime.ts';
import { RuntimeError } from '../runtime/runtime-error.ts';
import { containerId } from '../status/container-status.ts';
import {
  type Allocation,
  allocationFromStatus,
  allocationOf,
  asksForOther,
  decideResize,
  type PendingResize,
  withAllocation,
} from './allocation.ts';
import { isAlive } from './observation.ts';
import type { PodEvents } from './pod-events.ts';
import type { PodRecord } from './pod-record.ts';
import { heldBy, holdersBeside } from './room.ts';

/**
 * How far the size of a pod is:
 *
 *     as asked for --spec changes--> pending --fits--> in progress --every container has it--> as asked for
 *                                    (waits, or for ever)   (an error is tried again)
 */
export interface ResizeState {
  /** What the node has given; undefined until the pod was admitted. */
  allocation: Allocation | undefined;
  pending: PendingResize | undefined;
  inProgress: boolean;
  /** Why a container does not have its size yet, and until when that is left alone. */
  error: { readonly message: string; readonly retryAt: number } | undefined;
  /** What containers were started with or changed to, by their ids; of those from before this agent only their statuses tell. */
  readonly applied: Map<string, ResourceRequirements>;
}

export function createResizeState(): ResizeState {
  return { allocation: undefined, pending: undefined, inProgress: false, error: undefined, applied: new Map() };
}

export interface ResizerOptions {
  readonly runtime: Pick<ContainerRuntime, 'update'>;
  readonly events: PodEvents;
  readonly clock: Clock;
  readonly allocatable: Readonly<Amounts>;
  /** The memory that a container holds now and that cannot be taken from it; undefined when it cannot be read. */
  memoryUsage(container: ObservedContainer): number | undefined;
}

/** How a running container gets its new size. */
export type SizeChange = 'update' | 'restart';

/** Changes the CPU and memory of pods that run. Called by a pod's worker only. */
export interface Resizer {
  /** Allocates an admitted pod's requested resources, or returns why that has to wait for other pods. */
  allocate(record: PodRecord, all: Iterable<PodRecord>): void;
  /** What a running container of the pod as it was given needs. */
  change(record: PodRecord, container: Container, running: ObservedContainer): SizeChange | undefined;
  /** Changes running containers where they are. What fails is written down and tried again. Throws only when the engine is away. */
  update(record: PodRecord, changes: readonly { readonly container: ObservedContainer; readonly to: Container }[]): Promise<void>;
  /** Ends a change that has reached all containers. */
  settle(record: PodRecord): void;
  /** When to look at the pod again for its size's sake. */
  wakeAt(record: PodRecord): number | undefined;
}

/** How often a size that waits for room is looked at when nothing else wakes the pod, and one that could not be given is tried again. */
const retryMs = 10_000;

export function createResizer({ runtime, events, clock, allocatable, memoryUsage }: ResizerOptions): Resizer {
  function allocate(record: PodRecord, all: Iterable<PodRecord>): void {
    const { pod, resize } = record;
    if (pod === undefined || isFinished(pod)) return;
    if (resize.allocation === undefined) {
      resize.allocation = record.containers.size > 0 ? allocationFromStatus(pod) : allocationOf(pod);
      resize.inProgress = hasCondition(pod.status, 'PodResizeInProgress');
      resize.pending = pendingOf(pod.status);
    }
    if (!asksForOther(pod, resize.allocation)) {
      resize.pending = undefined;
      return;
    }
    const before = withAllocation(pod, resize.allocation);
    const pending = decideResize({ pod, before, others: holdersBeside(record, all).map(heldBy), allocatable });
    const isNews = pending?.reason !== resize.pending?.reason || pending?.message !== resize.pending?.message;
    resize.pending = pending;
    if (pending !== undefined) {
      if (isNews) tell(pod, 'Warning', `Resize${pending.reason}`, `Pod resize ${pending.reason}`, pending.message);
      return;
    }
    resize.allocation = allocationOf(pod);
    resize.inProgress = true;
    resize.error = undefined;
    tell(pod, 'Normal', 'ResizeStarted', 'Pod resize started');
  }

  function tell(pod: Pod, type: 'Normal' | 'Warning', reason: string, words: string, error?: string): void {
    events(pod, type, reason, `${words}: ${sizesOf(pod, error)}`);
  }

  async function updateOne(record: PodRecord, container: Container, running: ObservedContainer): Promise<void> {
    const limits = computeLimits(container);
    const usage = limits.memoryBytes > 0 ? memoryUsage(running) : undefined;
    if (usage !== undefined && usage >= limits.memoryBytes)
      throw new RuntimeError(
        'invalid',
        `cannot decrease memory limits: attempting to set container memory limit (${limits.memoryBytes}) below current usage (${usage})`,
      );
    await runtime.update(running.id, limits);
    record.resize.applied.set(running.id, container.resources ?? {});
    record.containers.set(running.id, { ...running, limits });
  }

  function failed(record: PodRecord, error: unknown): void {
    if (!(error instanceof RuntimeError) || error.code === 'unavailable' || error.code === 'timeout') throw error;
    record.stale = true;
    // Ended meanwhile: it starts with its new size, if it does.
    if (error.code === 'not-found' || error.code === 'conflict') return;
    const { pod, resize } = record;
    if (pod !== undefined && resize.error === undefined) tell(pod, 'Warning', 'ResizeError', 'Pod resize error', error.message);
    resize.inProgress = true;
    resize.error = { message: error.message, retryAt: clock.now() + retryMs };
  }

  function isWaiting({ resize }: PodRecord): boolean {
    return resize.error !== undefined && resize.error.retryAt > clock.now();
  }

  return {
    allocate,
    change(record, container, running) {
      const other = otherSize(record, container, running);
      if (other === undefined || isWaiting(record)) return undefined;
      return needsRestart(container, other) ? 'restart' : 'update';
    },
    async update(record, changes) {
      if (changes.length === 0) return;
      const results = await Promise.allSettled(changes.map(({ container, to }) => updateOne(record, to, container)));
      const failures = results.filter((result) => result.status === 'rejected');
      if (failures.length === 0) record.resize.error = undefined;
      for (const { reason } of failures) failed(record, reason);
    },
    settle(record) {
      const { pod, resize } = record;
      if (pod === undefined || !resize.inProgress || resize.error !== undefined) return;
      const given = withAllocation(pod, resize.allocation);
      const containers = new Map(containersOf(given).map((container) => [container.name, container]));
      for (const running of record.containers.values()) {
        const container = isAlive(running) ? containers.get(running.containerName) : undefined;
        if (container !== undefined && otherSize(record, container, running) !== undefined) return;
      }
      resize.inProgress = false;
      tell(given, 'Normal', 'ResizeCompleted', 'Pod resize completed');
    },
    wakeAt({ resize }) {
      if (resize.error !== undefined) return resize.error.retryAt;
      return resize.pending?.reason === 'Deferred' ? clock.now() + retryMs : undefined;
    },
  };
}

function containersOf({ spec }: Pod): Container[] {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
}

/** What a running container has, as far as it is known, when that is not what it was given. A size that limits it alike is the same. */
export function otherSize(
  { pod, resize }: PodRecord,
  container: Container,
  running: ObservedContainer,
): ResourceRequirements | undefined {
  const has = resize.applied.get(running.id) ?? toldSize(pod?.status, container, running);
  if (has === undefined) return undefined;
  const wants = computeLimits(container);
  const isSame = equalLimits(computeLimits({ ...container, resources: has }), wants);
  return isSame || (running.limits !== undefined && equalLimits(running.limits, wants)) ? undefined : has;
}

function toldSize(
  status: PodStatus | undefined,
  { name }: Container,
  running: ObservedContainer,
): ResourceRequirements | undefined {
  const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  const told = statuses.find((each) => each.name === name);
  return told?.containerID === containerId(running) ? told.resources : undefined;
}

function equalLimits(a: ContainerLimits, b: ContainerLimits): boolean {
  return a.cpuShares === b.cpuShares && a.cpuQuota === b.cpuQuota && a.memoryBytes === b.memoryBytes;
}

/** Whether the container wants to be started anew for what changes. The request of memory limits nothing. */
function needsRestart({ resizePolicy = [], resources }: Container, has: ResourceRequirements): boolean {
  return resizePolicy.some(({ resourceName, restartPolicy }) => {
    if (restartPolicy !== 'RestartContainer') return false;
    const only = (of: ResourceRequirements | undefined): ResourceRequirements =>
      resourceName === 'memory' ? part(of, ['limits'], 'memory') : part(of, ['limits', 'requests'], 'cpu');
    return !equalResources(only(resources), only(has));
  });
}

function part(
  resources: ResourceRequirements | undefined,
  kinds: readonly ('limits' | 'requests')[],
  name: 'cpu' | 'memory',
): ResourceRequirements {
  const found: ResourceRequirements = {};
  for (const kind of kinds) {
    const amount = resources?.[kind]?.[name];
    if (amount !== undefined) found[kind] = { [name]: amount };
  }
  return found;
}

function hasCondition(status: PodStatus | undefined, type: string): boolean {
  return status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false;
}

/** What the agent before this one said, so that it is not said again. */
function pendingOf(status: PodStatus | undefined): PendingResize | undefined {
  const condition = status?.conditions?.find(({ type, status: value }) => type === 'PodResizePending' && value === 'True');
  if (condition === undefined) return undefined;
  return { reason: condition.reason === 'Infeasible' ? 'Infeasible' : 'Deferred', message: condition.message ?? '' };
}

/** The sizes of all containers as one line, as Kubernetes' events tell them. */
function sizesOf(pod: Pod, error: string | undefined): string {
  const plain = (amounts: ResourceRequirements['limits']) =>
    amounts && Object.fromEntries(Object.entries(amounts).map(([name, { string }]) => [name, string]));
  const containers = containersOf(pod).map(({ name, resources }) => ({
    name,
    resources: { limits: plain(resources?.limits), requests: plain(resources?.requests) },
  }));
  return JSON.stringify({ containers, generation: pod.metadata?.generation, error });
}
