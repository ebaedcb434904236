import type { FieldViolation } from '../errors/api-error.ts';
import { duplicate, invalidValue, notSupported, required } from '../errors/violations.ts';
import type { Taint, Toleration } from '../generated/types.ts';
import { labelValueError, qualifiedNameError } from '../meta/names.ts';

export const TAINT_EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

export function validateTaints(field: string, taints: readonly Taint[] | undefined): FieldViolation[] {
  const violations: FieldViolation[] = [];
  const seen = new Set<string>();
  taints?.forEach(({ key = '', value = '', effect = '' }, i) => {
    const at = `${field}[${i}]`;
    const keyRule = qualifiedNameError(key);
    const valueRule = labelValueError(value);
    if (key === '') violations.push(required(`${at}.key`));
    else if (keyRule) violations.push(invalidValue(`${at}.key`, key, keyRule));
    if (valueRule) violations.push(invalidValue(`${at}.value`, value, valueRule));
    if (effect === '') violations.push(required(`${at}.effect`));
    else if (!TAINT_EFFECTS.includes(effect)) violations.push(notSupported(`${at}.effect`, effect, TAINT_EFFECTS));
    if (seen.has(`${key}:${effect}`)) violations.push(duplicate(at, `${key}:${effect}`));
    seen.add(`${key}:${effect}`);
  });
  return violations;
}

const OPERATORS = ['Equal', 'Exists'];

export function validateTolerations(field: string, tolerations: readonly Toleration[] | undefined): FieldViolation[] {
  const violations: FieldViolation[] = [];
  tolerations?.forEach((toleration, i) => {
    violations.push(...validateToleration(`${field}[${i}]`, toleration));
  });
  return violations;
}

function validateToleration(
  at: string,
  { key = '', operator = '', value = '', effect = '', tolerationSeconds }: Toleration,
): FieldViolation[] {
  const violations: FieldViolation[] = [];
  const keyRule = key === '' ? undefined : qualifiedNameError(key);
  const valueRule = labelValueError(value);
  if (keyRule) violations.push(invalidValue(`${at}.key`, key, keyRule));
  if (key === '' && operator !== 'Exists')
    violations.push(invalidValue(`${at}.operator`, operator, 'must be "Exists" when key is empty'));
  if (operator !== '' && !OPERATORS.includes(operator)) violations.push(notSupported(`${at}.operator`, operator, OPERATORS));
  if (operator === 'Exists' && value !== '')
    violations.push(invalidValue(`${at}.value`, value, 'must be empty when operator is "Exists"'));
  else if (valueRule) violations.push(invalidValue(`${at}.value`, value, valueRule));
  if (effect !== '' && !TAINT_EFFECTS.includes(effect)) violations.push(notSupported(`${at}.effect`, effect, TAINT_EFFECTS));
  if (tolerationSeconds !== undefined && effect !== 'NoExecute') {
    violations.push(invalidValue(`${at}.effect`, effect, 'must be "NoExecute" when tolerationSeconds is set'));
  }
  return violations;
}
