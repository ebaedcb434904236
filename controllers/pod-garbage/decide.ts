import type { Node, Pod } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { isConditionTrue } from '../../api/meta/conditions.ts';
import { objectKey } from '../../api/meta/key.ts';
import { compareTimestamps } from '../../api/meta/time.ts';
import { taints } from '../../api/meta/well-known.ts';

/** Why no other component will ever delete a pod. */
export type Cause = 'NodeGone' | 'NodeOutOfService' | 'TooManyFinished';

/**
 * Which pods bound to a node are to be removed for the node's sake: all when it does not exist, and those that should
 * have gone when an administrator has declared it dead (taint out-of-service) and it is. An unreachable node alone is
 * no cause: its containers may run.
 */
export function decideByNode(pods: readonly Pod[], node: Node | undefined): { cause: Cause; pods: readonly Pod[] } {
  if (node === undefined) return { cause: 'NodeGone', pods };
  const declared = node.spec?.taints?.some(({ key }) => key === taints.outOfService) === true;
  const dead = declared && !isConditionTrue(node.status?.conditions, 'Ready');
  return { cause: 'NodeOutOfService', pods: dead ? pods.filter(({ metadata }) => metadata?.deletionTimestamp) : [] };
}

/** The finished pods that are more than the bound allows, oldest first. */
export function decideFinished(pods: readonly Pod[], bound: number): readonly Pod[] {
  const finished = pods.filter((pod) => isFinished(pod) && !pod.metadata?.deletionTimestamp);
  if (finished.length <= bound) return [];
  return finished
    .toSorted(
      (a, b) =>
        compareTimestamps(a.metadata?.creationTimestamp, b.metadata?.creationTimestamp) || (objectKey(a) < objectKey(b) ? -1 : 1),
    )
    .slice(0, finished.length - bound);
}
