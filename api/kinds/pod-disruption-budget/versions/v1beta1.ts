import type { LabelSelector, PodDisruptionBudget } from '../../../generated/types.ts';
import { equalValues } from '../../../meta/equal.ts';
import { olderVersion } from '../../older-version.ts';
import { podDisruptionBudget } from '../kind.ts';

/** No pod has this label. Kubernetes' name, for selectors that mean in one version what "{}" means in the other. */
const NO_POD = 'pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match';

const empty: LabelSelector = {};
const none: LabelSelector = { matchExpressions: [{ key: NO_POD, operator: 'Exists' }] };
const all: LabelSelector = { matchExpressions: [{ key: NO_POD, operator: 'DoesNotExist' }] };

/** The selector that means the same in the other version. */
function converted(
  { spec, ...others }: PodDisruptionBudget,
  meanings: readonly (readonly [LabelSelector, LabelSelector])[],
): PodDisruptionBudget {
  if (!spec) return others;
  const [, selector = spec.selector] = meanings.find(([here]) => equalValues(here, spec.selector)) ?? [];
  return { ...others, spec: { ...spec, ...(selector && { selector }) } };
}

/** The same fields. An empty selector means no pods, and all of them in policy/v1. */
export const podDisruptionBudgetV1beta1 = olderVersion(podDisruptionBudget, {
  apiVersion: 'policy/v1beta1',
  deprecated: ['1.21', '1.25'],
  toStored: (budget) =>
    converted(budget, [
      [empty, none],
      [all, empty],
    ]),
  fromStored: (budget) =>
    converted(budget, [
      [none, empty],
      [empty, all],
    ]),
});
