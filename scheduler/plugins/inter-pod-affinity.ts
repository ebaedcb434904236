import { equalValues } from '../../api/meta/equal.ts';
import type { NodeTable } from '../cache/node-table.ts';
import { type Domains, topologyValue } from '../cache/topology/domains.ts';
import type { Carried, Tally, Topology } from '../cache/topology/topology.ts';
import { flag, record, type ValueOf, whole } from '../config/shape.ts';
import { type Audience, wordFirstPod } from '../framework/audience.ts';
import {
  type ClusterEvent,
  type ClusterEventKind,
  definePlugin,
  maxScore,
  type Plugin,
  proceed,
  skip,
  type TrialChange,
  unresolvable,
  unschedulable,
} from '../framework/plugin.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { isSelected, type PodSelection } from '../framework/pod-selection.ts';
import type { PodTerm } from '../framework/pod-terms.ts';

export const interPodAffinityArguments = record({
  /**
   * What a required affinity of a pod on a node, to the pod to be placed, counts in the score. Default 1,
   * as in Kubernetes.
   */
  hardPodAffinityWeight: whole(0, 100),
  /** Preferences of pods on nodes say nothing about a pod that has none itself. Default false. */
  ignorePreferredTermsOfExistingPods: flag(),
});
export type InterPodAffinityArguments = ValueOf<typeof interPodAffinityArguments>;

/** Numbers by domain, and the domain of each row. */
interface Part {
  readonly domains: Domains;
  /** The domain of each row: looked up for each node it costs more than the comparison. */
  readonly ids: Int32Array;
  readonly numbers: Int32Array;
}

/** Of the pods that one of the pod's own terms is about. */
interface OwnPart extends Part {
  readonly selection: PodSelection;
}

interface State {
  readonly pod: PodInfo;
  readonly required: readonly Part[];
  /** How often required terms are fulfilled anywhere. */
  fulfilled: number;
  /** The pod itself would fulfil them: it may be the first. */
  readonly fulfilsItself: boolean;
  /** Where the pods are that the pod keeps away from, and where those are that keep away from it. */
  readonly own: readonly OwnPart[];
  readonly others: readonly Part[];
  /** What preferences of the pod and of others weigh. */
  readonly wishes: readonly Part[];
}

const changes: readonly ClusterEventKind[] = ['node/added', 'node/labels', 'pod/removed', 'pod/changed', 'namespace/changed'];
const tooFar = unresolvable("node(s) didn't match pod affinity rules", [...changes, 'pod/bound']);
const tooNear = unschedulable("node(s) didn't match pod anti-affinity rules", [...changes, 'node/removed']);
const keptAway = unschedulable("node(s) didn't satisfy existing pods anti-affinity rules", [...changes, 'node/removed']);

/**
 * Keeps a pod near the pods that its required affinity names and away from those that its required anti-affinity names,
 * in the domains of each term's topologyKey, and away from pods whose own anti-affinity names it. Prefers nodes by the
 * weights of preferences, of the pod and of others.
 */
export function interPodAffinity(given: InterPodAffinityArguments = {}): Plugin<State> {
  return definePlugin<State>({
    name: 'InterPodAffinity',
    prepare({ pod, nodes: { topology, nominated } }) {
      const promised = nominated.size > 0 ? [...nominated.values()].flat() : [];
      if (pod.terms.key === '' && !topology.hasTerms && !promised.some(({ terms }) => terms.anti.length > 0)) return skip;
      const state = stateOf({ pod, topology, promised }, given);
      const filter = state.required.length + state.own.length + state.others.length > 0;
      return filter || state.wishes.length > 0 ? proceed(state, { filter, score: state.wishes.length > 0 }) : skip;
    },
    filter(state, _, row) {
      if (!isNear(state, row)) return tooFar;
      if (isIn(state.own, row)) return tooNear;
      return isIn(state.others, row) ? keptAway : undefined;
    },
    filterRows(state, _, rows) {
      let left = rows.length;
      for (const part of state.required) left = keepNear(part, rows, left, isFirst(state) ? 0 : 1);
      for (const part of state.own) left = keepAway(part, rows, left);
      for (const part of state.others) left = keepAway(part, rows, left);
      return left;
    },
    explain,
    withPod,
    helps,
    score({ wishes }, _, rows, scores) {
      scores.fill(0);
      for (const { ids, numbers } of wishes) {
        for (let i = 0; i < rows.length; i++) {
          const domain = ids[rows[i]!]!;
          if (domain >= 0) scores[i]! += numbers[domain]!;
        }
      }
    },
    normalise(scores) {
      let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
      for (let i = 0; i < scores.length; i++) {
        least = Math.min(least, scores[i]!);
        most = Math.max(most, scores[i]!);
      }
      for (let i = 0; i < scores.length; i++) scores[i] = most > least ? (maxScore * (scores[i]! - least)) / (most - least) : 0;
    },
  });
}

/** What an attempt looks at. */
interface Surroundings {
  readonly pod: PodInfo;
  readonly topology: Topology;
  /** Pods that are nominated to some node: `withPod` may bring them. */
  readonly promised: readonly PodInfo[];
}

function stateOf({ pod, topology, promised }: Surroundings, given: InterPodAffinityArguments): State {
  const { terms, face } = pod;
  const tallyOf = ({ selection, topologyKey }: PodTerm) => topology.tally(selection, topologyKey);
  const required = [...new Set(terms.required.map(({ topologyKey }) => topology.tally(terms.requiredOf!, topologyKey)))];
  return {
    pod,
    required: required.map(partOf),
    fulfilled: required.reduce((sum, { total }) => sum + total, 0),
    fulfilsItself: terms.requiredOf !== undefined && topology.selects(terms.requiredOf, face),
    own: ownParts({ pod, topology, promised }),
    others: combined([
      ...(topology.hasTerms ? topology.termsAbout(face, 'anti').map((term) => sourceOf(term, 1)) : []),
      ...roomForOthers({ pod, topology, promised }),
    ]),
    wishes: combined([
      ...terms.preferred.flatMap((term) => inUse(tallyOf(term)).map((tally) => ({ ...partOf(tally), weight: term.weight }))),
      ...wishesOfOthers(pod, topology, given),
    ]),
  };
}

/** Terms that no pod fulfils keep the pod off nowhere, and are left out. */
function ownParts({ pod: { terms }, topology, promised }: Surroundings): OwnPart[] {
  const parts = new Map<Tally, OwnPart>();
  for (const { selection, topologyKey } of terms.anti) {
    const tally = topology.tally(selection, topologyKey);
    const isMet = tally.total > 0 || promised.some(({ face }) => topology.selects(selection, face));
    if (isMet) parts.set(tally, { ...partOf(tally), selection });
  }
  return [...parts.values()];
}

/** Numbers, all 0, for the terms about the pod that nominated pods have and that no pod on a node may have. */
function roomForOthers({ pod: { face }, topology, promised }: Surroundings): Source[] {
  return promised
    .flatMap(({ terms }) => terms.anti)
    .filter(({ selection }) => topology.selects(selection, face))
    .map(({ selection, topologyKey }) => {
      const { domains, counts } = topology.tally(selection, topologyKey);
      return { domains, weight: 0, numbers: counts };
    });
}

function wishesOfOthers({ terms, face }: PodInfo, topology: Topology, given: InterPodAffinityArguments): Source[] {
  const { hardPodAffinityWeight = 1, ignorePreferredTermsOfExistingPods = false } = given;
  if (!topology.hasTerms || (ignorePreferredTermsOfExistingPods && terms.preferred.length === 0)) return [];
  const required = hardPodAffinityWeight > 0 ? topology.termsAbout(face, 'required') : [];
  return [
    ...topology.termsAbout(face, 'preferred').map((term) => sourceOf(term, 1)),
    ...required.map((term) => sourceOf(term, hardPodAffinityWeight)),
  ];
}

const inUse = (tally: Tally): Tally[] => (tally.total > 0 ? [tally] : []);
const partOf = ({ domains, counts }: Tally): Part => ({ domains, ids: domains.ids, numbers: counts });

/** Numbers that count so many times; those of few pods are still to be spread over an array. */
type Source = { readonly domains: Domains; readonly weight: number } & (
  | { readonly numbers: Int32Array }
  | { readonly term: Carried }
);

function sourceOf(term: Carried, weight: number): Source {
  const numbers = term.counts.array(term.domains.size);
  return { domains: term.domains, weight, ...(numbers ? { numbers } : { term }) };
}

/** One part for each topology key: however many terms there are, a node is looked at once for each. */
function combined(sources: readonly Source[]): Part[] {
  const [only, second] = sources;
  if (only && !second && only.weight === 1 && 'numbers' in only) return [{ ...only, ids: only.domains.ids }];
  const parts = new Map<Domains, Int32Array>();
  for (const source of sources) {
    const { domains, weight } = source;
    let sums = parts.get(domains);
    if (!sums) {
      sums = new Int32Array(domains.size);
      parts.set(domains, sums);
    }
    if ('term' in source) source.term.counts.addTo(sums, weight);
    else for (let domain = 0; domain < domains.size; domain++) sums[domain]! += weight * source.numbers[domain]!;
  }
  return [...parts].map(([domains, numbers]) => ({ domains, ids: domains.ids, numbers }));
}

/** No pod fulfils the required terms, but the incoming pod itself will: it is enough that the node has the domains. */
const isFirst = ({ fulfilled, fulfilsItself }: State): boolean => fulfilled === 0 && fulfilsItself;

/** Every required term is fulfilled in the node's domain. */
function isNear(state: State, row: number): boolean {
  const least = isFirst(state) ? 0 : 1;
  return state.required.every(({ ids, numbers }) => ids[row]! >= 0 && numbers[ids[row]!]! >= least);
}

function isIn(parts: readonly Part[], row: number): boolean {
  return parts.some(({ ids, numbers }) => ids[row]! >= 0 && numbers[ids[row]!]! > 0);
}

function keepNear({ ids, numbers }: Part, rows: Int32Array, count: number, least: number): number {
  let kept = 0;
  for (let i = 0; i < count; i++) {
    const domain = ids[rows[i]!]!;
    if (domain >= 0 && numbers[domain]! >= least) rows[kept++] = rows[i]!;
  }
  return kept;
}

function keepAway({ ids, numbers }: Part, rows: Int32Array, count: number): number {
  let kept = 0;
  for (let i = 0; i < count; i++) {
    const domain = ids[rows[i]!]!;
    if (domain < 0 || numbers[domain] === 0) rows[kept++] = rows[i]!;
  }
  return kept;
}

/** Changes the numbers in place, also those that the index goes on with: every change of a trial is undone. */
function withPod(state: State, { nodes: { topology }, row, pod, sign }: TrialChange): void {
  const { terms, face } = state.pod;
  // One tally may stand for two terms.
  const moved = new Set<Int32Array>();
  for (const part of state.required)
    if (topology.selects(terms.requiredOf!, pod.face) && move(part, row, sign)) {
      state.fulfilled += sign;
      moved.add(part.numbers);
    }
  for (const part of state.own) if (!moved.has(part.numbers) && topology.selects(part.selection, pod.face)) move(part, row, sign);
  for (const { selection, topologyKey } of pod.terms.anti) {
    const part = state.others.find(({ domains }) => domains.key === topologyKey);
    if (part && topology.selects(selection, face)) move(part, row, sign);
  }
}

function move({ ids, numbers }: Part, row: number, sign: 1 | -1): boolean {
  const domain = ids[row]!;
  if (domain >= 0) numbers[domain]! += sign;
  return domain >= 0;
}

function explain(state: State, nodes: NodeTable, row: number, audience: Audience): string {
  const { terms, face } = state.pod;
  const { topology } = nodes;
  const place = (key: string) => `${key}=${topologyValue(nodes.nodes[row]!, key)}`;
  if (!isNear(state, row)) {
    const missing = terms.required.find(({ topologyKey }) => topologyValue(nodes.nodes[row]!, topologyKey) === undefined);
    if (missing) return `the node has no label ${missing.topologyKey}, which the pod's affinity is about`;
    return `no pod that the pod's affinity requires is in ${terms.required.map(({ topologyKey }) => place(topologyKey)).join(' and ')}`;
  }
  for (const { selection, topologyKey } of terms.anti) {
    const found = podsNear(nodes, row, topologyKey, (other) => topology.selects(selection, other.face));
    if (found.length > 0)
      return `the pod's anti-affinity keeps it away from ${wordFirstPod(found, audience)}, in ${place(topologyKey)}`;
  }
  for (const { domains } of state.others) {
    const isKeptAway = ({ terms: { anti } }: PodInfo) =>
      anti.some(({ selection, topologyKey }) => topologyKey === domains.key && topology.selects(selection, face));
    const found = podsNear(nodes, row, domains.key, isKeptAway);
    if (found.length > 0)
      return `the anti-affinity of ${wordFirstPod(found, audience)}, in ${place(domains.key)}, keeps the pod away`;
  }
  return '';
}

/** The keys of the pods that are meant and in the same domain. */
function podsNear(nodes: NodeTable, row: number, key: string, isMeant: (pod: PodInfo) => boolean): string[] {
  const value = topologyValue(nodes.nodes[row]!, key);
  const found: string[] = [];
  for (let other = 0; value !== undefined && other < nodes.count; other++) {
    if (topologyValue(nodes.nodes[other]!, key) !== value) continue;
    for (const pod of nodes.pods[other]!.values()) if (isMeant(pod)) found.push(pod.key);
  }
  return found;
}

function helps({ terms, face }: PodInfo, event: ClusterEvent): boolean {
  const mayBe = (selection: PodSelection | undefined, pod: PodInfo) =>
    selection !== undefined && isSelected(selection, pod.face, 'any');
  const isNamedBy = (pod: PodInfo) => terms.anti.some(({ selection }) => mayBe(selection, pod));
  const names = (pod: PodInfo) => pod.terms.anti.some(({ selection }) => isSelected(selection, face, 'any'));
  switch (event.kind) {
    case 'node/added':
      return terms.required.every(({ topologyKey }) => topologyValue(event.node, topologyKey) !== undefined);
    case 'pod/bound':
      return mayBe(terms.requiredOf, event.pod);
    case 'pod/removed':
      // Without the last pod that its affinity requires, it may be the first of them itself.
      return isNamedBy(event.pod) || names(event.pod) || mayBe(terms.requiredOf, event.pod);
    case 'pod/changed':
      // Terms depend neither on a deletion of the pod nor on its controller.
      if (equalValues(event.pod.face.labels, event.before.face.labels)) return false;
      return isNamedBy(event.before) || mayBe(terms.requiredOf, event.pod) || mayBe(terms.requiredOf, event.before);
    default:
      return true;
  }
}
