import type { Node, Pod, TopologySpreadConstraint } from '../../api/generated/types.ts';
import { requiredNodes } from '../../api/kinds/node/selector.ts';
import { tolerates } from '../../api/kinds/node/tolerations.ts';
import { labelSelectorMatches } from '../../api/meta/labels.ts';
import { labelOf, nodesOf, podsOn, sum, type World } from './world.ts';

// Topology spreading as Kubernetes documents it, each time from all pods.

type Rule = TopologySpreadConstraint & { readonly counts: (other: Pod) => boolean };

const hostname = 'kubernetes.io/hostname';

function rulesOf(pod: Pod, action: string): Rule[] {
  const isHere = (other: Pod) => other.metadata?.namespace === pod.metadata?.namespace && !other.metadata?.deletionTimestamp;
  const given = pod.spec?.topologySpreadConstraints ?? [];
  if (given.length > 0)
    return given
      .filter(({ whenUnsatisfiable }) => whenUnsatisfiable === action)
      .map((rule) => ({
        ...rule,
        counts: (other) => isHere(other) && labelSelectorMatches(rule.labelSelector, other.metadata?.labels),
      }));
  const owner = pod.metadata?.ownerReferences?.find(({ controller }) => controller);
  if (action === 'DoNotSchedule' || owner?.kind !== 'ReplicaSet') return [];
  const counts = (other: Pod) => isHere(other) && (other.metadata?.ownerReferences ?? []).some(({ uid }) => uid === owner.uid);
  return [
    { topologyKey: hostname, maxSkew: 3, counts },
    { topologyKey: 'topology.kubernetes.io/zone', maxSkew: 5, counts },
  ];
}

const key = ({ topologyKey = '' }: Rule): string => topologyKey;
const hasKeys = (node: Node, rules: readonly Rule[]): boolean => rules.every((rule) => labelOf(node, key(rule)) !== undefined);

/** Whether the pods and the domain of the node are counted. */
function isIncluded(pod: Pod, node: Node, { nodeAffinityPolicy, nodeTaintsPolicy }: Rule): boolean {
  if (nodeAffinityPolicy !== 'Ignore' && requiredNodes(pod)?.(node) === false) return false;
  const repelling = (node.spec?.taints ?? []).filter(({ effect }) => effect === 'NoSchedule' || effect === 'NoExecute');
  return nodeTaintsPolicy !== 'Honor' || repelling.every((taint) => tolerates(pod.spec?.tolerations ?? [], taint));
}

/** How many pods each domain has, of the nodes that are included. */
function domains(world: World, nodes: readonly Node[], rule: Rule): Map<string | undefined, number> {
  const counts = new Map<string | undefined, number>();
  for (const node of nodes) {
    const value = labelOf(node, key(rule));
    counts.set(value, (counts.get(value) ?? 0) + podsOn(world, node).filter(rule.counts).length);
  }
  return counts;
}

export function spreadFilter(world: World, pod: Pod, node: Node): string | undefined {
  const rules = rulesOf(pod, 'DoNotSchedule');
  for (const rule of rules) {
    if (labelOf(node, key(rule)) === undefined)
      return "node(s) didn't match pod topology spread constraints (missing required label)";
    const included = nodesOf(world).filter((other) => hasKeys(other, rules) && isIncluded(pod, other, rule));
    const counts = domains(world, included, rule);
    const least = counts.size < (rule.minDomains ?? 1) ? 0 : Math.min(...counts.values());
    const itself = labelSelectorMatches(rule.labelSelector, pod.metadata?.labels) ? 1 : 0;
    if ((counts.get(labelOf(node, key(rule))) ?? 0) + itself - least > (rule.maxSkew ?? 1))
      return "node(s) didn't match pod topology spread constraints";
  }
  return undefined;
}

export function spreadScores(world: World, pod: Pod, nodes: readonly Node[]): number[] {
  const rules = rulesOf(pod, 'ScheduleAnyway');
  const needsAll = (pod.spec?.topologySpreadConstraints ?? []).length > 0;
  const isCounted = (node: Node) => !needsAll || hasKeys(node, rules);
  const candidates = nodes.filter(isCounted);
  const raw = nodes.map((node) => (isCounted(node) ? sum(rules.map((rule) => of(rule, node))) : undefined));

  function of(rule: Rule, node: Node): number {
    if (labelOf(node, key(rule)) === undefined) return 0;
    const included = nodesOf(world).filter((other) => isCounted(other) && isIncluded(pod, other, rule));
    const isByNode = key(rule) === hostname;
    const there = isByNode
      ? podsOn(world, node).filter(rule.counts).length
      : domains(world, included, rule).get(labelOf(node, key(rule)));
    const size = isByNode ? candidates.length : new Set(candidates.map((other) => labelOf(other, key(rule)))).size;
    return (there ?? 0) * Math.log(size + 2) + (rule.maxSkew ?? 1) - 1;
  }

  const counted = raw.filter((score) => score !== undefined);
  const [least, most] = [Math.min(...counted), Math.max(0, ...counted)];
  return raw.map((score) => {
    if (score === undefined) return 0;
    return most === 0 ? 100 : (100 * (most + least - score)) / most;
  });
}
