import { forbidden, required } from '../errors/violations.ts';
import type { LabelSelector } from '../generated/types.ts';
import { labelValueError, qualifiedNameError } from '../meta/names.ts';
import { checkOneOf, checkRule, type Violations } from './checks.ts';
import { validateLabels } from './metadata.ts';

const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

/** Keys, operators and values of a LabelSelector. */
export function checkLabelSelector(out: Violations, at: string, selector: LabelSelector | undefined): void {
  if (!selector) return;
  if (selector.matchLabels) out.push(...validateLabels(`${at}.matchLabels`, selector.matchLabels));
  for (const [i, { key = '', operator = '', values = [] }] of (selector.matchExpressions ?? []).entries()) {
    const item = `${at}.matchExpressions[${i}]`;
    checkRule(out, item, '.key', key, qualifiedNameError(key));
    if (operator === '') out.push(required(`${item}.operator`));
    checkOneOf(out, item, '.operator', operator, OPERATORS);
    checkValues(out, item, operator, values);
  }
}

function checkValues(out: Violations, at: string, operator: string, values: readonly string[]): void {
  const wantsValues = operator === 'In' || operator === 'NotIn';
  if (wantsValues && values.length === 0) out.push(required(`${at}.values`, `operator ${operator} needs at least one`));
  if (!wantsValues && values.length > 0) out.push(forbidden(`${at}.values`, `operator ${operator} takes none`));
  values.forEach((value, i) => {
    checkRule(out, at, `.values[${i}]`, value, labelValueError(value));
  });
}
