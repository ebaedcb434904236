import type { Pod, TopologySpreadConstraint } from '../../api/generated/types.ts';
import { requiredNodes } from '../../api/kinds/node/selector.ts';
import { tolerates } from '../../api/kinds/node/tolerations.ts';
import { controllerOf } from '../../api/meta/owner.ts';
import { labels } from '../../api/meta/well-known.ts';
import { isHard } from '../cache/node-record.ts';
import { topologyValue } from '../cache/topology/domains.ts';
import type { NodeChoice } from '../cache/topology/node-sets.ts';
import type { PodInfo } from './pod-info.ts';
import { isSelected, type PodSelection, selectionInNamespace, selectionOfOwner } from './pod-selection.ts';

/** One rule of spreading, ready to be judged. */
export interface Spreading {
  readonly topologyKey: string;
  readonly maxSkew: number;
  readonly minDomains: number;
  /** The pods that are counted. */
  readonly selection: PodSelection;
  /** The nodes that are counted; undefined: all with the topology key. */
  readonly nodes: NodeChoice | undefined;
  /** The pod will be counted itself. */
  readonly countsItself: boolean;
  readonly honoursTaints: boolean;
}

/** How a pod is to be spread. */
export interface Spreadings {
  readonly hard: readonly Spreading[];
  readonly soft: readonly Spreading[];
  /** A node that lacks one of the topology keys counts for none of the soft rules. */
  readonly needsAllKeys: boolean;
}

export type DefaultConstraint = Pick<TopologySpreadConstraint, 'maxSkew' | 'topologyKey' | 'whenUnsatisfiable'>;

export interface Defaulting {
  /** What holds for pods that say nothing themselves and are one of several of a controller. */
  readonly constraints: readonly DefaultConstraint[];
  readonly needsAllKeys: boolean;
}

/**
 * Kubernetes' own: pods of one controller lightly apart, by machine and by zone;
 * nodes without a zone are spread over as well.
 */
export const systemDefaulting: Defaulting = {
  constraints: [
    { topologyKey: labels.hostname, maxSkew: 3, whenUnsatisfiable: 'ScheduleAnyway' },
    { topologyKey: labels.zone, maxSkew: 5, whenUnsatisfiable: 'ScheduleAnyway' },
  ],
  needsAllKeys: false,
};

/** Controllers whose pods do the same, so that it matters where they are together. */
const replicating: ReadonlySet<string> = new Set(['ReplicaSet', 'ReplicationController', 'StatefulSet']);

export function spreadingsOf(info: PodInfo, defaulting: Defaulting): Spreadings {
  const given = info.pod.spec?.topologySpreadConstraints ?? [];
  const { namespace } = info.face;
  const rules: Rule[] =
    given.length > 0
      ? given.map((constraint) => ({ constraint, selection: selectionInNamespace(namespace, constraint.labelSelector) }))
      : defaultRules(info, defaulting);
  const of = (action: string) => {
    const those = rules.filter(({ constraint }) => constraint.whenUnsatisfiable === action);
    const needed = given.length > 0 || defaulting.needsAllKeys || action === 'DoNotSchedule';
    const keys = needed ? those.map(({ constraint }) => constraint.topologyKey ?? '') : [];
    return those.map((rule) => compile(rule, info, keys));
  };
  return {
    hard: of('DoNotSchedule'),
    soft: of('ScheduleAnyway'),
    needsAllKeys: given.length > 0 || defaulting.needsAllKeys,
  };
}

interface Rule {
  readonly constraint: TopologySpreadConstraint;
  readonly selection: PodSelection;
}

function defaultRules({ pod, face }: PodInfo, { constraints }: Defaulting): Rule[] {
  const owner = controllerOf(pod);
  if (!owner?.uid || !replicating.has(owner.kind ?? '')) return [];
  const selection = selectionOfOwner(face.namespace, owner.uid);
  return constraints.map((constraint) => ({ constraint, selection }));
}

function compile({ constraint, selection }: Rule, { pod, face }: PodInfo, keys: readonly string[]): Spreading {
  const { topologyKey = '', maxSkew = 1, minDomains = 1, nodeTaintsPolicy } = constraint;
  return {
    topologyKey,
    maxSkew,
    minDomains,
    selection,
    nodes: choiceOf(constraint, pod, keys),
    countsItself: isSelected({ ...selection, skipsLeaving: false }, face, undefined),
    honoursTaints: nodeTaintsPolicy === 'Honor',
  };
}

/** `keys`: the topology keys of all rules that hold together; a node without one of them counts for none. */
function choiceOf(constraint: TopologySpreadConstraint, { spec }: Pod, keys: readonly string[]): NodeChoice | undefined {
  const { topologyKey, nodeAffinityPolicy, nodeTaintsPolicy } = constraint;
  const others = keys.filter((key) => key !== topologyKey);
  const required = nodeAffinityPolicy === 'Ignore' ? undefined : requiredNodes({ spec });
  const tolerations = nodeTaintsPolicy === 'Honor' ? (spec?.tolerations ?? []) : undefined;
  if (others.length === 0 && !required && !tolerations) return undefined;
  const asked = required && [spec?.nodeSelector, spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution];
  return {
    key: JSON.stringify([others, asked, tolerations]),
    chooses(node) {
      if (!others.every((key) => topologyValue(node, key) !== undefined)) return false;
      if (required && !required(node)) return false;
      return !tolerations || !node.spec?.taints?.some((taint) => isHard(taint) && !tolerates(tolerations, taint));
    },
  };
}
