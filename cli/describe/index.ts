import type { KindName } from '../../api/kinds/index.ts';
import { describeConfigMap } from './config-map.ts';
import type { Describer } from './describer.ts';
import { describeGeneric } from './generic.ts';
import { describeNamespace } from './namespace.ts';
import { describeNode } from './node.ts';
import { describeNodeMetrics } from './node-metrics.ts';
import { describePod } from './pod.ts';
import { describePodDisruptionBudget } from './pod-disruption-budget.ts';
import { describePriorityClass } from './priority-class.ts';
import { describeSecret } from './secret.ts';

/** The kinds that say more about themselves than all their fields would. */
const describers: Partial<Record<KindName, Describer>> = {
  ConfigMap: describeConfigMap,
  Namespace: describeNamespace,
  Node: describeNode,
  NodeMetrics: describeNodeMetrics,
  Pod: describePod,
  PodDisruptionBudget: describePodDisruptionBudget,
  PriorityClass: describePriorityClass,
  Secret: describeSecret,
};

/** How objects of a kind are described: in its own way, or field by field. */
export function describerOf(kindName: string): Describer {
  return describers[kindName as KindName] ?? describeGeneric;
}
