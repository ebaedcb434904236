import type { PriorityClass } from '../../generated/types.ts';

export function defaultPriorityClass(priorityClass: PriorityClass): void {
  priorityClass.value ??= 0;
  priorityClass.preemptionPolicy ||= 'PreemptLowerPriority';
}
