import type { ContainerStatus, Timestamp } from '../../api/generated/types.ts';
import { isConditionTrue } from '../../api/meta/conditions.ts';
import { toMillis } from '../../api/meta/time.ts';
import type { ObservedContainer } from '../runtime/runtime.ts';
import { containerStep, restStep, type Step, type StepContext } from './container-step.ts';
import { hasEnded, isAlive, isIn, type PodObservation } from './observation.ts';
import { initContainers, mainContainers, type PodContainer } from './pod-containers.ts';

export interface InitSteps {
  readonly steps: readonly Step[];
  /** All init containers are done and all sidecars have started once: the containers may run. */
  readonly initialized: boolean;
}

/**
 * What a pod's init containers need, one after the other. Each waits for the one before: an init container for its
 * success, a sidecar for being started. What has begun in this sandbox proves that everything before it was done,
 * whatever became of its containers since; only sidecars are looked after for good. In a new sandbox all run again.
 *
 *     waits --(the one before is passed)--> runs --exit 0 / started--> passed
 *                                            ^ |
 *                                  back-off  +-+ exit 1, as the policy wants; else the pod has failed
 */
export function initSteps(observed: PodObservation, context: StepContext): InitSteps {
  const all = initContainers(context.pod);
  const steps: Step[] = [];
  const begun = lastBegun(all, observed, context);
  for (const [i, each] of all.entries()) {
    const list = observed.containers.get(each.container.name ?? '') ?? [];
    const passed = i < begun || (each.role === 'init' && isDone(each, list, context));
    if (passed && each.role === 'init') {
      steps.push(restStep(list));
      continue;
    }
    steps.push(containerStep(each, list, context));
    if (!passed && !isStarted(each, list, context)) return { steps, initialized: false };
  }
  return { steps, initialized: true };
}

/**
 * The last init container that has begun in this sandbox, by place; beyond all of them once a container of the pod
 * proper has.
 */
function lastBegun(all: readonly PodContainer[], observed: PodObservation, context: StepContext): number {
  const began = ({ container: { name = '' } }: PodContainer) => {
    const here = observed.containers.get(name)?.some((container) => isIn(context.sandbox, container));
    return here === true || saidInSandbox(name, context).length > 0;
  };
  return mainContainers(context.pod).some(began) ? all.length : all.findLastIndex(began);
}

function isDone({ container }: PodContainer, list: readonly ObservedContainer[], context: StepContext): boolean {
  const newest = list.find((candidate) => isIn(context.sandbox, candidate));
  if (newest !== undefined) return hasEnded(newest) && newest.exitCode === 0;
  return isSaidDone(container.name ?? '', context);
}

/** Whether it was said of an init container that it is done, since this sandbox is there. */
export function isSaidDone(name: string, context: SayingContext): boolean {
  return saidInSandbox(name, context).some(({ exitCode }) => exitCode === 0);
}

type SayingContext = Pick<StepContext, 'sandbox' | 'previous'>;

function isStarted(each: PodContainer, list: readonly ObservedContainer[], { sandbox, health }: StepContext): boolean {
  const [newest] = list;
  return each.role === 'sidecar' && newest !== undefined && isAlive(newest) && isIn(sandbox, newest) && health.of(newest).started;
}

interface Said {
  readonly at: Timestamp | undefined;
  readonly exitCode?: number | undefined;
}

/** What was said of a container since this sandbox is there: its containers may have been removed. */
function saidInSandbox(name: string, { sandbox, previous }: SayingContext): Said[] {
  // While all start anew, what was said is of the time before.
  if (sandbox === undefined || isConditionTrue(previous?.conditions, 'AllContainersRestarting')) return [];
  // A sandbox that was made in advance may be older than the one before it, but has another address.
  if (sandbox.ip !== undefined && sandbox.ip !== previous?.podIP) return [];
  const all = [...(previous?.initContainerStatuses ?? []), ...(previous?.containerStatuses ?? [])];
  const since = Math.floor(sandbox.createdAt.getTime() / 1000) * 1000;
  return saidOf(all.find((status) => status.name === name)).filter(({ at }) => at !== undefined && toMillis(at) >= since);
}

function saidOf(status: ContainerStatus | undefined): Said[] {
  const { running, terminated } = status?.state ?? {};
  return [
    ...(running ? [{ at: running.startedAt }] : []),
    ...(terminated ? [{ at: terminated.startedAt, exitCode: terminated.exitCode ?? 0 }] : []),
  ];
}
