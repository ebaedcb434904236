import type { Pod, Taint, Toleration } from '../../api/generated/types.ts';
import { toleratesOne } from '../../api/kinds/node/tolerations.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { isMirror } from '../../api/kinds/pod/static-pods.ts';
import { taintEffects } from '../../api/meta/well-known.ts';

export interface TaintedView {
  /** All taints of the node. */
  readonly taints: readonly Taint[];
  /** The pods that are bound to it. */
  readonly pods: readonly Pod[];
  /** Whether what was to be counted under this key is over. */
  isOver(key: string): boolean;
}

export interface EvictionPlan {
  /** Each pod with the taint that it does not tolerate, or not any longer. */
  readonly evict: readonly { readonly pod: Pod; readonly taint: Taint }[];
  /** What is to be counted, and for how many milliseconds; nothing else is. */
  readonly counting: ReadonlyMap<string, number>;
}

/** Whether the taint drives pods away. */
export function isNoExecute({ effect }: Taint): boolean {
  return effect === taintEffects.noExecute;
}

/**
 * Which pods must leave a node for the sake of its NoExecute taints, and which may stay for how long. As in Kubernetes
 * the first toleration that matches a taint says how long; without seconds it says for good. Of several taints the
 * first that is over counts. Pods that have ended or are leaving are left alone, and so are mirrors: their file stays
 * where it is.
 */
export function decideEvictions({ taints, pods, isOver }: TaintedView): EvictionPlan {
  const evict: { pod: Pod; taint: Taint }[] = [];
  const counting = new Map<string, number>();
  const driving = taints.filter(isNoExecute);
  for (const pod of pods) {
    if (pod.metadata?.deletionTimestamp || isFinished(pod) || isMirror(pod)) continue;
    const limits = driving.flatMap((taint) => limitOf(pod, taint));
    const over = limits.find(({ key, seconds }) => seconds <= 0 || isOver(key));
    if (over) evict.push({ pod, taint: over.taint });
    else for (const { key, seconds } of limits) counting.set(key, seconds * 1_000);
  }
  return { evict, counting };
}

interface Limit {
  readonly taint: Taint;
  readonly seconds: number;
  readonly key: string;
}

/** How long the pod tolerates the taint; empty when for good. */
function limitOf(pod: Pod, taint: Taint): Limit[] {
  const tolerations: readonly Toleration[] = pod.spec?.tolerations ?? [];
  const toleration = tolerations.find((each) => toleratesOne(each, taint));
  const seconds = toleration ? toleration.tolerationSeconds : 0;
  if (seconds === undefined) return [];
  return [{ taint, seconds, key: keyOf(pod, taint, seconds) }];
}

/** A taint that was taken away and set again is another, and so is a pod of the same name. */
function keyOf({ metadata }: Pod, { key, value, timeAdded }: Taint, seconds: number): string {
  return [metadata?.uid, key, value, timeAdded?.seconds, timeAdded?.nanos, seconds].join('|');
}
