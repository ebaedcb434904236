import { qualifiedNameError } from '../../api/meta/names.ts';
import { labels } from '../../api/meta/well-known.ts';
import type { NodeTable } from '../cache/node-table.ts';
import { nodeItself, topologyValue } from '../cache/topology/domains.ts';
import type { Tally, Topology } from '../cache/topology/topology.ts';
import { list, record, refine, required, text, type ValueOf, whole, word } from '../config/shape.ts';
import {
  type ClusterEvent,
  type ClusterEventKind,
  definePlugin,
  maxScore,
  type Plugin,
  proceed,
  skip,
  unresolvable,
  unschedulable,
} from '../framework/plugin.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { isSelected } from '../framework/pod-selection.ts';
import { type Defaulting, type Spreading, type Spreadings, spreadingsOf, systemDefaulting } from '../framework/pod-spreading.ts';

const defaultConstraint = record(
  {
    maxSkew: required(whole(1, 2 ** 31 - 1)),
    topologyKey: required(refine(text(), qualifiedNameError)),
    whenUnsatisfiable: required(word('DoNotSchedule', 'ScheduleAnyway')),
  },
  { labelSelector: 'the pods of one controller are counted, whatever their labels' },
);

const defaultConstraints = refine(list(defaultConstraint), (given) => {
  const keys = given.map(({ topologyKey, whenUnsatisfiable }) => `${topologyKey} with ${whenUnsatisfiable}`);
  const twice = keys.find((key, i) => keys.indexOf(key) < i);
  return twice === undefined ? undefined : `has ${twice} twice`;
});

export const podTopologySpreadArguments = refine(
  record({
    /** `System` (default): Kubernetes' own defaults. `List`: those of `defaultConstraints`, none if there are none. */
    defaultingType: word('System', 'List'),
    defaultConstraints,
  }),
  ({ defaultingType = 'System', defaultConstraints = [] }) =>
    defaultingType === 'System' && defaultConstraints.length > 0
      ? 'has defaultConstraints, which count only with defaultingType List'
      : undefined,
);
export type PodTopologySpreadArguments = ValueOf<typeof podTopologySpreadArguments>;

/** A hard rule: no more than `most` pods may be in a domain beforehand. */
interface Limit {
  readonly rule: Spreading;
  readonly tally: Tally;
  /** How many domains have nodes. */
  found: number;
  least: number;
  most: number;
}

/** A soft rule. */
interface Wish {
  readonly rule: Spreading;
  readonly tally: Tally;
  /** The domain of each row by the rule's own key; -1 where the node does not have it. */
  readonly labelled: Int32Array;
  /** The rule counts each node for itself: soft rules by host name do, whatever a node calls itself. */
  readonly byNode: boolean;
}

interface State {
  readonly limits: readonly Limit[];
  readonly wishes: readonly Wish[];
  readonly needsAllKeys: boolean;
}

const wakeOn: readonly ClusterEventKind[] = [
  ...(['node/added', 'node/labels', 'node/taints', 'node/removed'] as const),
  ...(['pod/bound', 'pod/removed', 'pod/changed'] as const),
];
const tooMany = unschedulable("node(s) didn't match pod topology spread constraints", wakeOn);
const noLabel = unresolvable("node(s) didn't match pod topology spread constraints (missing required label)", [
  'node/added',
  'node/labels',
]);

/** A score that stands for "does not count"; all others are 0 or more. */
const ignored = -1;

/**
 * Keeps the pods that a constraint selects evenly over the domains of its topology key: a node is refused where the pod
 * would make its domain hold more than `maxSkew` above the emptiest (`DoNotSchedule`), or is liked the less the more
 * its domain holds (`ScheduleAnyway`).
 */
export function podTopologySpread({ defaultingType, defaultConstraints }: PodTopologySpreadArguments = {}): Plugin<State> {
  const defaulting: Defaulting =
    defaultingType === 'List' ? { constraints: defaultConstraints ?? [], needsAllKeys: true } : systemDefaulting;
  const known = new WeakMap<PodInfo, Spreadings>();
  const rulesOf = (pod: PodInfo): Spreadings => {
    const rules = known.get(pod) ?? spreadingsOf(pod, defaulting);
    known.set(pod, rules);
    return rules;
  };
  return definePlugin<State>({
    name: 'PodTopologySpread',
    prepare({ pod, nodes: { topology } }) {
      const { hard, soft, needsAllKeys } = rulesOf(pod);
      if (hard.length + soft.length === 0) return skip;
      const limits = hard.map((rule) => limitOf(rule, topology));
      const state = { limits, wishes: soft.map((rule) => wishOf(rule, topology)), needsAllKeys };
      return proceed(state, { filter: limits.length > 0, score: soft.length > 0 });
    },
    filter({ limits }, _, row) {
      for (let i = 0; i < limits.length; i++) {
        const { tally, most } = limits[i]!;
        const domain = tally.domains.ids[row]!;
        if (domain < 0) return noLabel;
        if (tally.counts[domain]! > most) return tooMany;
      }
      return undefined;
    },
    filterRows({ limits }, _, rows) {
      let left = rows.length;
      for (const { tally, most } of limits) {
        const { ids } = tally.domains;
        const { counts } = tally;
        let kept = 0;
        for (let i = 0; i < left; i++) {
          const domain = ids[rows[i]!]!;
          if (domain >= 0 && counts[domain]! <= most) rows[kept++] = rows[i]!;
        }
        left = kept;
      }
      return left;
    },
    explain: ({ limits }, nodes, row) => explainLimits(limits, nodes, row),
    withPod({ limits }, { nodes: { nodes }, row, pod, sign }) {
      for (const limit of limits) {
        const { rule, tally } = limit;
        const domain = tally.domains.ids[row]!;
        if (domain < 0 || rule.nodes?.chooses(nodes[row]!) === false || !isSelected(rule.selection, pod.face, undefined))
          continue;
        tally.counts[domain]! += sign;
        Object.assign(limit, boundsOf(rule, tally));
      }
    },
    helps: (pod, event) => rulesOf(pod).hard.some((rule) => mayChange(rule, event)),
    score({ wishes, needsAllKeys }, _, rows, scores) {
      scores.fill(0);
      if (needsAllKeys) for (const { labelled } of wishes) ignoreUnlabelled(labelled, rows, scores);
      for (const wish of wishes) addScores(wish, rows, scores);
    },
    normalise,
  });
}

/** Of the first domain that would hold too many; empty when none would. */
function explainLimits(limits: readonly Limit[], nodes: NodeTable, row: number): string {
  for (const { rule, tally, found, least, most } of limits) {
    const value = topologyValue(nodes.nodes[row]!, rule.topologyKey);
    if (value === undefined) return `the node has no label ${rule.topologyKey}`;
    const there = tally.counts[tally.domains.ids[row]!]!;
    if (there <= most) continue;
    const others =
      found < rule.minDomains
        ? `and there are ${found} domains where minDomains asks for ${rule.minDomains}, so that none may hold more than maxSkew`
        : `the domain with the fewest ${least}`;
    return `${rule.topologyKey}=${value} has ${there} matching pods, ${others}; maxSkew is ${rule.maxSkew}`;
  }
  return '';
}

/** Turns how much each node's domain holds into 0 (the most) to 100; in place. */
function normalise(scores: Float64Array): void {
  let [least, most] = [Number.POSITIVE_INFINITY, 0];
  for (let i = 0; i < scores.length; i++) {
    if (scores[i] === ignored) continue;
    least = Math.min(least, scores[i]!);
    most = Math.max(most, scores[i]!);
  }
  for (let i = 0; i < scores.length; i++) {
    if (scores[i] === ignored) scores[i] = 0;
    else scores[i] = most === 0 ? maxScore : maxScore * (1 - (scores[i]! - least) / most);
  }
}

function limitOf(rule: Spreading, topology: Topology): Limit {
  const tally = topology.tally(rule.selection, rule.topologyKey, rule.nodes);
  return { rule, tally, ...boundsOf(rule, tally) };
}

function boundsOf(rule: Spreading, tally: Tally): Pick<Limit, 'found' | 'least' | 'most'> {
  const { found, least } = leastOf(tally, rule.minDomains);
  return { found, least, most: rule.maxSkew + least - Number(rule.countsItself) };
}

/** The fewest pods in a domain that has nodes; 0 while there are fewer domains than there should be. */
function leastOf({ domains, counts, nodesIn }: Tally, minDomains: number): { found: number; least: number } {
  let least = Number.POSITIVE_INFINITY;
  let found = 0;
  for (let domain = 0; domain < domains.size; domain++) {
    if (nodesIn[domain] === 0) continue;
    found += 1;
    if (counts[domain]! < least) least = counts[domain]!;
  }
  return { found, least: found < minDomains ? 0 : least };
}

function wishOf(rule: Spreading, topology: Topology): Wish {
  const { selection, topologyKey, nodes } = rule;
  const labelled = topology.tally(selection, topologyKey, nodes);
  const byNode = topologyKey === labels.hostname;
  const tally = byNode ? topology.tally(selection, nodeItself) : labelled;
  return { rule, tally, labelled: labelled.domains.ids, byNode };
}

function ignoreUnlabelled(labelled: Int32Array, rows: Int32Array, scores: Float64Array): void {
  for (let i = 0; i < rows.length; i++) if (labelled[rows[i]!]! < 0) scores[i] = ignored;
}

/**
 * The more domains a rule has, the fewer pods are in each:
 * the logarithm keeps zones from outweighing machines. Kubernetes' figures.
 */
function addScores(wish: Wish, rows: Int32Array, scores: Float64Array): void {
  const { rule, tally, labelled } = wish;
  const { counts, domains } = tally;
  const { ids } = domains;
  const base = rule.maxSkew - 1;
  const weight = Math.log(domainsOf(wish, rows, scores) + 2);
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!;
    if (scores[i] !== ignored && labelled[row]! >= 0) scores[i]! += counts[ids[row]!]! * weight + base;
  }
}

/** How many domains the nodes are in that may be chosen; those without the label are one. */
function domainsOf({ tally, labelled, byNode }: Wish, rows: Int32Array, scores: Float64Array): number {
  const seen = new Uint8Array(tally.domains.size + 1);
  let found = 0;
  for (let i = 0; i < rows.length; i++) {
    if (scores[i] === ignored) continue;
    const at = labelled[rows[i]!]! + 1;
    if (!byNode && seen[at] === 1) continue;
    seen[at] = 1;
    found += 1;
  }
  return found;
}

/** Whether the event may change how many pods a domain has, or which domains there are. */
function mayChange(rule: Spreading, event: ClusterEvent): boolean {
  const counts = (pod: PodInfo) => isSelected(rule.selection, pod.face, undefined);
  switch (event.kind) {
    case 'pod/bound':
    case 'pod/removed':
      return counts(event.pod);
    case 'pod/changed':
      return counts(event.pod) !== counts(event.before);
    case 'node/added':
      return topologyValue(event.node, rule.topologyKey) !== undefined;
    case 'node/taints':
      return rule.honoursTaints;
    default:
      return true;
  }
}
