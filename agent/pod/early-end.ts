import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { isStatic } from '../../api/kinds/pod/static-pods.ts';
import { isOver } from './compute-actions.ts';
import { observe } from './observation.ts';
import { type Ending, isActive } from './pod-lifecycle.ts';
import { deadlineOf, type PodRecord } from './pod-record.ts';

const deadlineExceeded: Ending = {
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
};

/** Ends a pod at its deadline; a pod whose containers ended before that keeps its own end. Pure. */
export function decideDeadline(record: PodRecord, nowMs: number): Ending | undefined {
  const deadlineAt = deadlineOf(record);
  return deadlineAt !== undefined && nowMs >= deadlineAt && hasMoreToRun(record) ? deadlineExceeded : undefined;
}

/** Whether the agent may evict a pod now. A pod that ends anyway keeps its own end. Pure. */
export function isEvictable(record: PodRecord): boolean {
  // As in Kubernetes: a static pod is critical to its machine, and would only begin again.
  return record.pod !== undefined && !isStatic(record.pod) && hasMoreToRun(record);
}

function hasMoreToRun({ pod, life, containers }: PodRecord): boolean {
  return pod !== undefined && isActive(life) && !isFinished(pod) && !isOver(pod, observe(containers.values()));
}
