import type { Pod } from '../../api/generated/types.ts';
import type { EventRecorder, EventType } from '../../client/events.ts';
import { referenceTo } from '../../client/reference.ts';

/** Says what happens to a pod, as Kubernetes words it; with a container's name the event points at that container. */
export type PodEvents = (pod: Pod | undefined, type: EventType, reason: string, message: string, container?: string) => void;

export function createPodEvents(recorder: Pick<EventRecorder, 'event'>): PodEvents {
  return (pod, type, reason, message, container) => {
    if (pod === undefined) return;
    // Without the version the same message is the same event, whatever else changed in the pod.
    const { resourceVersion: _, ...reference } = referenceTo('Pod', pod);
    recorder.event(
      container === undefined ? reference : { ...reference, fieldPath: `spec.containers{${container}}` },
      type,
      reason,
      message,
    );
  };
}
