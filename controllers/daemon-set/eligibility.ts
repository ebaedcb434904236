import type { DaemonSet, Node, Taint } from '../../api/generated/types.ts';
import { requiredNodes } from '../../api/kinds/node/selector.ts';
import { tolerates } from '../../api/kinds/node/tolerations.ts';
import { taintEffects } from '../../api/meta/well-known.ts';
import { daemonTolerations } from './new-pod.ts';

/** What a DaemonSet is to do with a node: whether a pod is to come there, and whether one that is there may stay. */
export type Eligibility = 'run' | 'stay' | 'leave';

const compiled = new WeakMap<DaemonSet, (node: Node) => Eligibility>();

/** Judges nodes by their name, labels and taints, and by nothing else (`isNewsToDaemons`). */
export function eligibilityOf(set: DaemonSet): (node: Node) => Eligibility {
  const known = compiled.get(set) ?? compileEligibility(set);
  compiled.set(set, known);
  return known;
}

function compileEligibility({ spec }: DaemonSet): (node: Node) => Eligibility {
  const template = spec?.template?.spec ?? {};
  const matches = requiredNodes({ spec: template });
  const tolerations = daemonTolerations(template);
  const hasUntolerated = (taints: readonly Taint[], effect: string): boolean =>
    taints.some((taint) => taint.effect === effect && !tolerates(tolerations, taint));
  return (node) => {
    if (template.nodeName && template.nodeName !== node.metadata?.name) return 'leave';
    if (matches && !matches(node)) return 'leave';
    const taints = node.spec?.taints ?? [];
    if (hasUntolerated(taints, taintEffects.noExecute)) return 'leave';
    return hasUntolerated(taints, taintEffects.noSchedule) ? 'stay' : 'run';
  };
}
