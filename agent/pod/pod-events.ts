import type { Pod } from '../../api/generated/types.ts';
import type { EventRecorder, EventType } from '../../client/events/events.ts';
import { referenceTo } from '../../client/events/reference.ts';
import { boundedWords } from './bounded-words.ts';
import { findContainer, type Role } from './pod-containers.ts';

/** Says what happens to a pod, as Kubernetes words it; with a container's name the event points at that container. */
export type PodEvents = (pod: Pod | undefined, type: EventType, reason: string, message: string, container?: string) => void;

export function createPodEvents(recorder: Pick<EventRecorder, 'event'>): PodEvents {
  return (pod, type, reason, message, container) => {
    if (pod === undefined) return;
    // Without the version the same message is the same event, whatever else changed in the pod.
    const { resourceVersion: _, ...reference } = referenceTo('Pod', pod);
    recorder.event(
      container === undefined ? reference : { ...reference, fieldPath: fieldPath(pod, container) },
      type,
      reason,
      boundedWords(message),
    );
  };
}

const lists: Readonly<Record<Role, string>> = {
  init: 'initContainers',
  sidecar: 'initContainers',
  main: 'containers',
  ephemeral: 'ephemeralContainers',
};

function fieldPath(pod: Pod, container: string): string {
  const role = findContainer(pod, container)?.role ?? 'main';
  return `spec.${lists[role]}{${container}}`;
}
