import type { FieldViolation } from '../../errors/api-error.ts';
import { invalidValue } from '../../errors/violations.ts';
import type { LabelSelector, LabelSelectorRequirement, Pod, PodSpec } from '../../generated/types.ts';

/** A part of a pod that chooses other pods by a selector and by the values that the pod's own labels have. */
interface Choice {
  readonly at: string;
  readonly part: Part;
}

interface Part {
  labelSelector?: LabelSelector;
  matchLabelKeys?: string[];
  mismatchLabelKeys?: string[];
}

/**
 * Writes into each selector what `matchLabelKeys` and `mismatchLabelKeys` ask for, as Kubernetes does when a pod is
 * created: readers of the pod need not evaluate them again, and a label that changes later changes nothing. Keys that
 * the pod has no label for ask for nothing.
 */
export function mergeMatchLabelKeys({ metadata, spec }: Pod): void {
  for (const { part } of choicesOf(spec)) {
    const { labelSelector } = part;
    if (!labelSelector) continue;
    const known = labelSelector.matchExpressions ?? [];
    const said = new Set(known.map(textOf));
    const added = requirementsOf(part, metadata?.labels).filter((one) => !said.has(textOf(one)));
    if (added.length > 0) labelSelector.matchExpressions = [...known, ...added];
  }
}

/**
 * A key that the selector names in another way as well would say two things. Only of new pods, whose labels are those
 * of the merge.
 */
export function checkMergedLabelKeys({ metadata, spec }: Pod): FieldViolation[] {
  const out: FieldViolation[] = [];
  for (const { at, part } of choicesOf(spec)) {
    const merged = new Set(requirementsOf(part, metadata?.labels).map(textOf));
    const others = (part.labelSelector?.matchExpressions ?? []).filter((one) => !merged.has(textOf(one)));
    const named = new Set([...Object.keys(part.labelSelector?.matchLabels ?? {}), ...others.map(({ key }) => key)]);
    for (const name of ['matchLabelKeys', 'mismatchLabelKeys'] as const)
      part[name]?.forEach((key, i) => {
        if (named.has(key)) out.push(invalidValue(`${at}.${name}[${i}]`, key, `exists in both ${name} and labelSelector`));
      });
  }
  return out;
}

/** Requirements that say the same have the same text. There may be thousands. */
const textOf = ({ key, operator, values = [] }: LabelSelectorRequirement): string => JSON.stringify([key, operator, values]);

/** Whether a selector of the spec depends on the labels of the pod. */
export function hasMatchLabelKeys(spec: PodSpec): boolean {
  return choicesOf(spec).some(({ part }) => part.matchLabelKeys !== undefined || part.mismatchLabelKeys !== undefined);
}

function requirementsOf(part: Part, labels: Readonly<Record<string, string>> = {}): LabelSelectorRequirement[] {
  const requirements = (keys: readonly string[] = [], operator: 'In' | 'NotIn') =>
    keys.filter((key) => Object.hasOwn(labels, key)).map((key) => ({ key, operator, values: [labels[key]!] }));
  return [...requirements(part.matchLabelKeys, 'In'), ...requirements(part.mismatchLabelKeys, 'NotIn')];
}

function choicesOf(spec: PodSpec | undefined): Choice[] {
  const choices: Choice[] = [];
  for (const kind of ['podAffinity', 'podAntiAffinity'] as const) {
    const affinity = spec?.affinity?.[kind];
    const at = `spec.affinity.${kind}`;
    affinity?.requiredDuringSchedulingIgnoredDuringExecution?.forEach((part, i) => {
      choices.push({ at: `${at}.requiredDuringSchedulingIgnoredDuringExecution[${i}]`, part });
    });
    affinity?.preferredDuringSchedulingIgnoredDuringExecution?.forEach(({ podAffinityTerm: part }, i) => {
      if (part) choices.push({ at: `${at}.preferredDuringSchedulingIgnoredDuringExecution[${i}].podAffinityTerm`, part });
    });
  }
  spec?.topologySpreadConstraints?.forEach((part, i) => {
    choices.push({ at: `spec.topologySpreadConstraints[${i}]`, part });
  });
  return choices;
}
