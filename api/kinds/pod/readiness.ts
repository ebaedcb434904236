import type { Pod } from '../../generated/types.ts';
import { isConditionTrue } from '../../meta/conditions.ts';

/** Whether the pod counts as available: what budgets, and later services, go by. */
export function isPodReady(pod: Pod): boolean {
  return isConditionTrue(pod.status?.conditions, 'Ready');
}
