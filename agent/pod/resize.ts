import type { Container, Pod, PodStatus, ResourceRequirements } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import type { Amounts } from '../../api/kinds/pod/resources.ts';
import type { Clock } from '../../client/clock.ts';
import { computeLimits } from '../config/container-config.ts';
import type { ContainerRuntime, ObservedContainer } from '../runtime/runtime.ts';
import { RuntimeError } from '../runtime/runtime-error.ts';
import {
  type Allocation,
  allocationFromStatus,
  allocationOf,
  asksForOther,
  decideResize,
  type PendingResize,
  withAllocation,
} from './allocation.ts';
import { needsRestart, otherSize, type SizeChange } from './container-size.ts';
import { isAlive } from './observation.ts';
import type { PodEvents } from './pod-events.ts';
import { advance, type PodRecord } from './pod-record.ts';
import { heldBy, holdersBeside } from './room.ts';

export interface ResizerOptions {
  readonly runtime: Pick<ContainerRuntime, 'update'>;
  readonly events: PodEvents;
  readonly clock: Clock;
  readonly allocatable: Readonly<Amounts>;
  /** The memory that a container holds now and that cannot be taken from it; undefined when it cannot be read. */
  memoryUsage(container: ObservedContainer): number | undefined;
}

/** A running container, and the spec whose size it gets. */
export interface InPlaceChange {
  readonly container: ObservedContainer;
  readonly to: Container;
}

/** Changes the CPU and memory of pods that run. Called by a pod's worker only. */
export interface Resizer {
  /** Allocates an admitted pod's requested resources, or returns why that has to wait for other pods. */
  allocate(record: PodRecord, all: Iterable<PodRecord>): void;
  /** What a running container of the pod as it was given needs. */
  change(record: PodRecord, container: Container, running: ObservedContainer): SizeChange | undefined;
  /**
   * Changes running containers where they are. What fails is written down and tried again. Throws only when the engine
   * is away.
   */
  update(record: PodRecord, changes: readonly InPlaceChange[]): Promise<void>;
  /** Ends a change that has reached all containers. */
  settle(record: PodRecord): void;
  /** When to look at the pod again for its size's sake. */
  wakeAt(record: PodRecord): number | undefined;
}

/**
 * How often a size that waits for room is looked at when nothing else wakes the pod, and one that could not be given is
 * tried again.
 */
const retryMs = 10_000;

export function createResizer(options: ResizerOptions): Resizer {
  return new EngineResizer(options);
}

class EngineResizer implements Resizer {
  readonly #options: ResizerOptions;

  constructor(options: ResizerOptions) {
    this.#options = options;
  }

  allocate(record: PodRecord, all: Iterable<PodRecord>): void {
    const { pod, resize } = record;
    if (pod === undefined || isFinished(pod)) return;
    const allocation = resize.allocation ?? takeUp(record, pod);
    if (!asksForOther(pod, allocation)) {
      resize.pending = undefined;
      return;
    }
    const before = withAllocation(pod, allocation);
    const others = holdersBeside(record, all).map(heldBy);
    const pending = decideResize({ pod, before, others, allocatable: this.#options.allocatable });
    const isNews = pending?.reason !== resize.pending?.reason || pending?.message !== resize.pending?.message;
    resize.pending = pending;
    if (pending !== undefined) {
      if (isNews) this.#tell(pod, 'Warning', `Resize${pending.reason}`, `Pod resize ${pending.reason}`, pending.message);
      return;
    }
    resize.allocation = allocationOf(pod);
    resize.inProgress = true;
    resize.error = undefined;
    this.#tell(pod, 'Normal', 'ResizeStarted', 'Pod resize started');
  }

  change(record: PodRecord, container: Container, running: ObservedContainer): SizeChange | undefined {
    const other = otherSize(record, container, running);
    if (other === undefined || this.#isWaiting(record)) return undefined;
    return needsRestart(container, other) ? 'restart' : 'update';
  }

  async update(record: PodRecord, changes: readonly InPlaceChange[]): Promise<void> {
    if (changes.length === 0) return;
    const results = await Promise.allSettled(changes.map((change) => this.#updateOne(record, change)));
    const failures = results.filter((result) => result.status === 'rejected');
    if (failures.length === 0) record.resize.error = undefined;
    for (const { reason } of failures) this.#failed(record, reason);
  }

  settle(record: PodRecord): void {
    const { pod, resize } = record;
    if (pod === undefined || !resize.inProgress || resize.error !== undefined) return;
    const given = withAllocation(pod, resize.allocation);
    const containers = new Map(containersOf(given).map((container) => [container.name, container]));
    for (const running of record.containers.values()) {
      const container = isAlive(running) ? containers.get(running.containerName) : undefined;
      if (container !== undefined && otherSize(record, container, running) !== undefined) return;
    }
    resize.inProgress = false;
    this.#tell(given, 'Normal', 'ResizeCompleted', 'Pod resize completed');
  }

  wakeAt({ resize }: PodRecord): number | undefined {
    if (resize.error !== undefined) return resize.error.retryAt;
    return resize.pending?.reason === 'Deferred' ? this.#options.clock.now() + retryMs : undefined;
  }

  async #updateOne(record: PodRecord, { container: running, to }: InPlaceChange): Promise<void> {
    const { runtime, memoryUsage } = this.#options;
    const limits = computeLimits(to);
    const usage = limits.memoryBytes > 0 ? memoryUsage(running) : undefined;
    if (usage !== undefined && usage >= limits.memoryBytes)
      throw new RuntimeError(
        'invalid',
        `cannot decrease memory limits: attempting to set container memory limit (${limits.memoryBytes}) below current usage (${usage})`,
      );
    await runtime.update(running.id, limits);
    record.resize.applied.set(running.id, to.resources ?? {});
    record.containers.set(running.id, { ...running, limits });
  }

  #failed(record: PodRecord, error: unknown): void {
    if (!(error instanceof RuntimeError) || error.code === 'unavailable' || error.code === 'timeout') throw error;
    advance(record, { type: 'hint' });
    // Ended meanwhile: it starts with its new size, if it does.
    if (error.code === 'not-found' || error.code === 'conflict') return;
    const { pod, resize } = record;
    if (pod !== undefined && resize.error === undefined)
      this.#tell(pod, 'Warning', 'ResizeError', 'Pod resize error', error.message);
    resize.inProgress = true;
    resize.error = { message: error.message, retryAt: this.#options.clock.now() + retryMs };
  }

  #isWaiting({ resize }: PodRecord): boolean {
    return resize.error !== undefined && resize.error.retryAt > this.#options.clock.now();
  }

  #tell(pod: Pod, type: 'Normal' | 'Warning', reason: string, words: string, error?: string): void {
    this.#options.events(pod, type, reason, `${words}: ${sizesOf(pod, error)}`);
  }
}

/** The first time that a pod's size is looked at: what it was given, and how far an agent before this one was. */
function takeUp({ containers, resize }: PodRecord, pod: Pod): Allocation {
  resize.allocation = containers.size > 0 ? allocationFromStatus(pod) : allocationOf(pod);
  resize.inProgress = hasCondition(pod.status, 'PodResizeInProgress');
  resize.pending = pendingOf(pod.status);
  return resize.allocation;
}

function containersOf({ spec }: Pod): Container[] {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
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
