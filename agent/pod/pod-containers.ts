import type { Container, Pod } from '../../api/generated/types.ts';
import { isSidecar } from '../../api/kinds/pod/status-cells.ts';

/**
 * What a container is in its pod: `init` runs to its end before the next one begins, `sidecar` is an init container
 * that goes on running beside the others, `main` makes the pod what it is, `ephemeral` was added by `debug` and runs
 * once.
 */
export type Role = 'init' | 'sidecar' | 'main' | 'ephemeral';

export interface PodContainer {
  readonly role: Role;
  readonly container: Container;
  /** The container whose processes an ephemeral one sees. */
  readonly target?: string | undefined;
}

/** Init containers and sidecars in the order they start. */
export function initContainers(pod: Pod): PodContainer[] {
  return (pod.spec?.initContainers ?? []).map((container) => ({ role: isSidecar(container) ? 'sidecar' : 'init', container }));
}

/** The containers of `spec.containers`. */
export function mainContainers(pod: Pod): PodContainer[] {
  return (pod.spec?.containers ?? []).map((container) => ({ role: 'main', container }));
}

/** Those that were added to look into a pod. */
export function ephemeralContainers(pod: Pod): PodContainer[] {
  return (pod.spec?.ephemeralContainers ?? []).map(({ ephemeralContainerCommon: container = {}, targetContainerName }) => ({
    role: 'ephemeral',
    container: container as Container,
    target: targetContainerName || undefined,
  }));
}

/** All that a pod runs, in the order they start. */
export function podContainers(pod: Pod): PodContainer[] {
  return [...initContainers(pod), ...mainContainers(pod), ...ephemeralContainers(pod)];
}

export function findContainer(pod: Pod | undefined, name: string): PodContainer | undefined {
  return pod && podContainers(pod).find(({ container }) => container.name === name);
}
