import type { FieldViolation } from '../../errors/api-error.ts';
import { invalidValue } from '../../errors/violations.ts';
import type { PodDisruptionBudget } from '../../generated/types.ts';
import { checkOneOf, checkRange, type Violations } from '../checks.ts';
import { checkIntOrPercent } from '../int-or-percent.ts';
import { checkLabelSelector } from '../selectors.ts';

export function validatePodDisruptionBudget({ spec = {} }: PodDisruptionBudget): FieldViolation[] {
  const out: Violations = [];
  const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy } = spec;
  if (minAvailable && maxUnavailable)
    out.push(invalidValue('spec', 'minAvailable, maxUnavailable', 'minAvailable and maxUnavailable cannot both be set'));
  checkIntOrPercent(out, 'spec.minAvailable', minAvailable);
  checkIntOrPercent(out, 'spec.maxUnavailable', maxUnavailable);
  checkLabelSelector(out, 'spec.selector', selector);
  checkOneOf(out, 'spec', '.unhealthyPodEvictionPolicy', unhealthyPodEvictionPolicy, ['IfHealthyBudget', 'AlwaysAllow']);
  return out;
}

const COUNTS = ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'] as const;

export function validatePodDisruptionBudgetStatus({ status = {} }: PodDisruptionBudget): FieldViolation[] {
  const out: Violations = [];
  for (const name of COUNTS) checkRange(out, 'status', `.${name}`, status[name], 0);
  return out;
}
