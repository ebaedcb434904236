import type { Pod } from '../../api/generated/types.ts';
import { type ObservedContainer, sandboxName } from '../runtime/runtime.ts';

/** A pod as the engine has it: its sandboxes and its containers by name, the newest attempt first. */
export interface PodObservation {
  readonly sandboxes: readonly ObservedContainer[];
  readonly containers: ReadonlyMap<string, readonly ObservedContainer[]>;
}

/** Sorts what the engine listed for one pod. */
export function observe(all: Iterable<ObservedContainer>): PodObservation {
  const sandboxes: ObservedContainer[] = [];
  const containers = new Map<string, ObservedContainer[]>();
  for (const container of all) {
    if (container.containerName === sandboxName) sandboxes.push(container);
    else {
      const list = containers.get(container.containerName);
      if (list === undefined) containers.set(container.containerName, [container]);
      else list.push(container);
    }
  }
  sandboxes.sort(newestFirst);
  for (const list of containers.values()) list.sort(newestFirst);
  return { sandboxes, containers };
}

/** What the engine listed, by pod and by container id. */
export function sortByPod(all: Iterable<ObservedContainer>): Map<string, Map<string, ObservedContainer>> {
  const pods = new Map<string, Map<string, ObservedContainer>>();
  for (const container of all) {
    const containers = pods.get(container.podUid) ?? new Map<string, ObservedContainer>();
    pods.set(container.podUid, containers.set(container.id, container));
  }
  return pods;
}

function newestFirst(a: ObservedContainer, b: ObservedContainer): number {
  return b.attempt - a.attempt || b.createdAt.getTime() - a.createdAt.getTime();
}

/** Whether its process is there: paused ones count, they hold their resources and come back. */
export function isAlive(container: ObservedContainer): boolean {
  return container.state === 'running' || container.state === 'paused';
}

/** Whether it has ended. A container that was created and never started has not. */
export function hasEnded(container: ObservedContainer): boolean {
  return container.state === 'exited' || container.state === 'dead' || container.state === 'removing';
}

/** The sandbox that the pod's containers can join. */
export function readySandbox(observed: PodObservation): ObservedContainer | undefined {
  const newest = observed.sandboxes[0];
  return newest !== undefined && newest.state === 'running' ? newest : undefined;
}

/**
 * Whether nothing can join a sandbox that runs: an engine that is killed may give its network and shared memory back,
 * and starts no container in it any more. Then it has no address.
 */
export function isBare(pod: Pod, sandbox: ObservedContainer): boolean {
  return sandbox.ip === undefined && pod.spec?.hostNetwork !== true;
}

/**
 * Whether a container shares this sandbox's network. Containers of earlier versions of Berth do not record their
 * sandbox: they never outlived it.
 */
export function isIn(sandbox: ObservedContainer | undefined, { sandboxId }: ObservedContainer): boolean {
  return sandbox !== undefined && (sandboxId === undefined || sandboxId === sandbox.id);
}

export function allContainers(observed: PodObservation): ObservedContainer[] {
  return [...observed.containers.values()].flat();
}
