import type { Pod, PodAffinity } from '../../api/generated/types.ts';
import { intersection, type PodSelection, selectionOfTerm } from './pod-selection.ts';

/** Near some pods, or away from them; two nodes are near when they have the same value of the label `topologyKey`. */
export interface PodTerm {
  readonly selection: PodSelection;
  readonly topologyKey: string;
}

export interface WeightedPodTerm extends PodTerm {
  /** Negative: away from them. */
  readonly weight: number;
}

/** What a pod says of other pods: its inter-pod affinity and anti-affinity. */
export interface PodTerms {
  /** Pods with equal keys say the same. Empty for pods that say nothing, which are most. */
  readonly key: string;
  readonly required: readonly PodTerm[];
  /** The pods that all required terms are about together: only they can fulfil any of them. */
  readonly requiredOf: PodSelection | undefined;
  readonly anti: readonly PodTerm[];
  readonly preferred: readonly WeightedPodTerm[];
}

const none: PodTerms = { key: '', required: [], requiredOf: undefined, anti: [], preferred: [] };

export function podTerms({ metadata, spec }: Pod): PodTerms {
  const { podAffinity, podAntiAffinity } = spec?.affinity ?? {};
  if (!podAffinity && !podAntiAffinity) return none;
  const { namespace = '' } = metadata ?? {};
  const required = requiredTerms(podAffinity, namespace);
  const anti = requiredTerms(podAntiAffinity, namespace);
  const preferred = [...preferredTerms(podAffinity, namespace, 1), ...preferredTerms(podAntiAffinity, namespace, -1)];
  if (required.length + anti.length + preferred.length === 0) return none;
  return {
    key: JSON.stringify([required, anti, preferred].map((terms) => terms.map(keyOf))),
    required,
    requiredOf: required.length > 0 ? intersection(required.map(({ selection }) => selection)) : undefined,
    anti,
    preferred,
  };
}

const keyOf = (term: PodTerm | WeightedPodTerm) => [term.selection.key, term.topologyKey, 'weight' in term && term.weight];

function requiredTerms(affinity: PodAffinity | undefined, namespace: string): PodTerm[] {
  return (affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).map((term) => ({
    selection: selectionOfTerm(term, namespace),
    topologyKey: term.topologyKey ?? '',
  }));
}

function preferredTerms(affinity: PodAffinity | undefined, namespace: string, sign: 1 | -1): WeightedPodTerm[] {
  return (affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ weight = 0, podAffinityTerm = {} }) => ({
    selection: selectionOfTerm(podAffinityTerm, namespace),
    topologyKey: podAffinityTerm.topologyKey ?? '',
    weight: sign * weight,
  }));
}
