import type { LabelSelector, Pod, PodAffinityTerm } from '../../api/generated/types.ts';
import { compileLabelSelector, type LabelMatcher, type Labels } from '../../api/meta/labels.ts';
import { controllerOf } from '../../api/meta/owner.ts';

/** What selectors can tell of a pod: pods with equal keys are the same to all of them. */
export interface PodFace {
  readonly key: string;
  readonly namespace: string;
  readonly labels: Labels;
  /** It is being deleted: spreading does not count it any more. */
  readonly isLeaving: boolean;
  /** The uid of its controller. */
  readonly owner: string | undefined;
}

const noLabels: Labels = {};

export function podFace(pod: Pod): PodFace {
  const { namespace = '', labels = noLabels, deletionTimestamp } = pod.metadata ?? {};
  const isLeaving = deletionTimestamp !== undefined;
  const owner = controllerOf(pod)?.uid;
  return { key: JSON.stringify([namespace, labels, isLeaving, owner]), namespace, labels, isLeaving, owner };
}

/** Some pods of the cluster: those that all parts choose. */
export interface PodSelection {
  /** Selections with equal keys choose the same pods. */
  readonly key: string;
  readonly parts: readonly SelectionPart[];
  /** Pods that are being deleted do not belong to it. */
  readonly skipsLeaving: boolean;
}

export interface SelectionPart {
  readonly namespaces: ReadonlySet<string>;
  /** Chooses further namespaces by their labels. */
  readonly namespaceSelector: LabelMatcher | undefined;
  /** Undefined chooses no pod. */
  readonly labels: LabelMatcher | undefined;
  /** Only pods of this controller. */
  readonly owner?: string | undefined;
}

/**
 * `namespaceLabels`: of the namespace that the pod is in; undefined while nothing is known of it;
 * "any" where they might be as asked for.
 */
export function isSelected(
  { parts, skipsLeaving }: PodSelection,
  pod: PodFace,
  namespaceLabels: Labels | 'any' | undefined,
): boolean {
  if (skipsLeaving && pod.isLeaving) return false;
  for (const { namespaces, namespaceSelector, labels, owner } of parts) {
    if (!namespaces.has(pod.namespace) && !isNamespaceChosen(namespaceSelector, namespaceLabels)) return false;
    if (owner !== undefined && owner !== pod.owner) return false;
    if (!labels?.matches(pod.labels)) return false;
  }
  return true;
}

function isNamespaceChosen(selector: LabelMatcher | undefined, labels: Labels | 'any' | undefined): boolean {
  return selector !== undefined && (labels === 'any' || selector.matches(labels));
}

/**
 * The pods that an affinity term of a pod in `namespace` is about: without namespaces of its own,
 * those of the same namespace.
 */
export function selectionOfTerm(
  { labelSelector, namespaces = [], namespaceSelector }: PodAffinityTerm,
  namespace: string,
): PodSelection {
  const where = namespaces.length === 0 && !namespaceSelector ? [namespace] : [...new Set(namespaces)].sort();
  const part: SelectionPart = {
    namespaces: new Set(where),
    namespaceSelector: namespaceSelector && compileLabelSelector(namespaceSelector),
    labels: labelSelector && compileLabelSelector(labelSelector),
  };
  return selection([part]);
}

/** The pods of `namespace` that a selector chooses, as spreading counts them. */
export function selectionInNamespace(namespace: string, labelSelector: LabelSelector | undefined): PodSelection {
  const labels = labelSelector && compileLabelSelector(labelSelector);
  return selection([{ namespaces: new Set([namespace]), namespaceSelector: undefined, labels }], { skipsLeaving: true });
}

/** The pods of one controller, as spreading counts them. */
export function selectionOfOwner(namespace: string, owner: string): PodSelection {
  const labels = compileLabelSelector({});
  return selection([{ namespaces: new Set([namespace]), namespaceSelector: undefined, labels, owner }], { skipsLeaving: true });
}

/** The pods that belong to all of the selections. */
export function intersection(selections: readonly PodSelection[]): PodSelection {
  if (selections.length === 1) return selections[0]!;
  return selection(selections.flatMap(({ parts }) => parts));
}

function selection(parts: readonly SelectionPart[], { skipsLeaving = false } = {}): PodSelection {
  const keys = parts.map(({ namespaces, namespaceSelector, labels, owner }) => [
    [...namespaces],
    keyOf(namespaceSelector),
    keyOf(labels),
    owner,
  ]);
  return { key: JSON.stringify([skipsLeaving, ...keys]), parts, skipsLeaving };
}

/** The order of requirements and of their values makes no difference to what a selector chooses. */
function keyOf(matcher: LabelMatcher | undefined): unknown {
  return matcher?.requirements.map(({ key, operator, values }) => JSON.stringify([key, operator, [...values].sort()])).sort();
}
