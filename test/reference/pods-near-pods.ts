import type { Node, Pod, PodAffinity, PodAffinityTerm } from '../../api/generated/types.ts';
import { labelSelectorMatches } from '../../api/meta/labels.ts';
import { labelOf, podsWithNodes, sum, type World } from './world.ts';

// Inter-pod affinity as Kubernetes documents it, each time from all pods.

const required = (affinity: PodAffinity | undefined): readonly PodAffinityTerm[] =>
  affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
const preferred = (affinity: PodAffinity | undefined) => affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];

/** Whether a term of a pod, `of`, is about the other. */
function isAbout(world: World, term: PodAffinityTerm, of: Pod, other: Pod): boolean {
  const { namespace = '', labels } = other.metadata ?? {};
  const named = term.namespaces ?? [];
  const isOwn = named.length === 0 && !term.namespaceSelector && namespace === of.metadata?.namespace;
  const isChosen = labelSelectorMatches(term.namespaceSelector, world.namespaces.get(namespace));
  return (isOwn || named.includes(namespace) || isChosen) && labelSelectorMatches(term.labelSelector, labels);
}

function isNear(a: Node, b: Node, { topologyKey = '' }: PodAffinityTerm): boolean {
  return labelOf(a, topologyKey) !== undefined && labelOf(a, topologyKey) === labelOf(b, topologyKey);
}

export function affinityFilter(world: World, pod: Pod, node: Node): string | undefined {
  const { podAffinity, podAntiAffinity } = pod.spec?.affinity ?? {};
  const all = podsWithNodes(world);
  const terms = required(podAffinity);
  const isPartner = (other: Pod) => terms.every((term) => isAbout(world, term, pod, other));
  const partners = all.filter((other) => isPartner(other.pod));
  const hasLabels = terms.every(({ topologyKey = '' }) => labelOf(node, topologyKey) !== undefined);
  const isFulfilled = terms.every((term) => partners.some((other) => isNear(other.node, node, term)));
  const nobody = partners.every((other) => terms.every(({ topologyKey = '' }) => labelOf(other.node, topologyKey) === undefined));
  if (!hasLabels || !(isFulfilled || (nobody && isPartner(pod)))) return "node(s) didn't match pod affinity rules";
  for (const term of required(podAntiAffinity))
    if (all.some((other) => isAbout(world, term, pod, other.pod) && isNear(other.node, node, term)))
      return "node(s) didn't match pod anti-affinity rules";
  for (const other of all)
    for (const term of required(other.pod.spec?.affinity?.podAntiAffinity))
      if (isAbout(world, term, other.pod, pod) && isNear(other.node, node, term))
        return "node(s) didn't satisfy existing pods anti-affinity rules";
  return undefined;
}

export function affinityScores(world: World, pod: Pod, nodes: readonly Node[]): number[] {
  const raw = nodes.map((node) => sum(podsWithNodes(world).map((other) => wishBetween(world, { pod, node }, other))));
  const [least, most] = [Math.min(...raw), Math.max(...raw)];
  return raw.map((score) => (most > least ? (100 * (score - least)) / (most - least) : 0));
}

interface Placed {
  readonly pod: Pod;
  readonly node: Node;
}

/** What both say of each other; a requirement of the one that is there weighs 1. */
function wishBetween(world: World, coming: Placed, there: Placed): number {
  const weigh = (of: Placed, other: Placed, affinity: PodAffinity | undefined): number =>
    sum(
      preferred(affinity)
        .filter(({ podAffinityTerm: term = {} }) => isAbout(world, term, of.pod, other.pod) && isNear(of.node, other.node, term))
        .map(({ weight = 0 }) => weight),
    );
  const both = (of: Placed, other: Placed) => {
    const { podAffinity, podAntiAffinity } = of.pod.spec?.affinity ?? {};
    return weigh(of, other, podAffinity) - weigh(of, other, podAntiAffinity);
  };
  const needs = required(there.pod.spec?.affinity?.podAffinity).filter(
    (term) => isAbout(world, term, there.pod, coming.pod) && isNear(there.node, coming.node, term),
  );
  return both(coming, there) + both(there, coming) + needs.length;
}
