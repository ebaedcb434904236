import type { FieldViolation } from '../../errors/api-error.ts';
import { invalidValue } from '../../errors/violations.ts';
import type { IntOrString, PodDisruptionBudget } from '../../generated/types.ts';
import { checkOneOf, checkRange, type Violations } from '../checks.ts';
import { checkLabelSelector } from '../selectors.ts';
import { percentOf } from './scaled.ts';

export function validatePodDisruptionBudget({ spec = {} }: PodDisruptionBudget): FieldViolation[] {
  const out: Violations = [];
  const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy } = spec;
  if (minAvailable && maxUnavailable)
    out.push(invalidValue('spec', 'minAvailable, maxUnavailable', 'minAvailable and maxUnavailable cannot both be set'));
  checkBound(out, '.minAvailable', minAvailable);
  checkBound(out, '.maxUnavailable', maxUnavailable);
  checkLabelSelector(out, 'spec.selector', selector);
  checkOneOf(out, 'spec', '.unhealthyPodEvictionPolicy', unhealthyPodEvictionPolicy, ['IfHealthyBudget', 'AlwaysAllow']);
  return out;
}

/** A number, or a part of the whole and not more than it. */
function checkBound(out: Violations, name: string, value: IntOrString | undefined): void {
  if (!value) return;
  if (value.type !== 1) {
    checkRange(out, 'spec', name, value.intVal ?? 0, 0);
    return;
  }
  const percent = percentOf(value.strVal ?? '');
  if (percent === undefined)
    out.push(invalidValue(`spec${name}`, value.strVal, 'must be a number, or a percentage such as "50%"'));
  else if (percent > 100) out.push(invalidValue(`spec${name}`, value.strVal, 'must not be greater than 100%'));
}

const COUNTS = ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'] as const;

export function validatePodDisruptionBudgetStatus({ status = {} }: PodDisruptionBudget): FieldViolation[] {
  const out: Violations = [];
  for (const name of COUNTS) checkRange(out, 'status', `.${name}`, status[name], 0);
  return out;
}
