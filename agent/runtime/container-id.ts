import type { ObservedContainer } from './runtime.ts';

/** A container's id as statuses give it: with the runtime's name before it, as in Kubernetes. */
export function containerId(container: Pick<ObservedContainer, 'id'>): string {
  return `docker://${container.id}`;
}
