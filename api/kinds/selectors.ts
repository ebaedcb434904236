import { forbidden, invalidSize, required } from '../errors/violations.ts';
import type { LabelSelector } from '../generated/types.ts';
import { labelValueError, qualifiedNameError } from '../meta/names.ts';
import { maxSelectorTerms } from '../meta/selector-bounds.ts';
import { checkOneOf, checkRule, type Violations } from './checks.ts';
import { validateLabels } from './metadata.ts';

const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

/**
 * Keys, operators and values of a LabelSelector, and that it has no more terms than one of a request may have:
 * controllers and the scheduler ask each about every pod of a namespace.
 */
export function checkLabelSelector(out: Violations, at: string, selector: LabelSelector | undefined): void {
  if (!selector) return;
  if (countTerms(selector) > maxSelectorTerms)
    out.push(invalidSize(at, maxSelectorTerms, 'labels, expressions and values together'));
  if (selector.matchLabels) out.push(...validateLabels(`${at}.matchLabels`, selector.matchLabels));
  for (const [i, { key = '', operator = '', values = [] }] of (selector.matchExpressions ?? []).entries()) {
    const item = `${at}.matchExpressions[${i}]`;
    checkRule(out, item, '.key', key, qualifiedNameError(key));
    if (operator === '') out.push(required(`${item}.operator`));
    checkOneOf(out, item, '.operator', operator, OPERATORS);
    checkValues(out, item, operator, values);
  }
}

function countTerms({ matchLabels, matchExpressions = [] }: LabelSelector): number {
  let count = matchExpressions.length;
  for (const _ in matchLabels) count++;
  for (const { values } of matchExpressions) count += values?.length ?? 0;
  return count;
}

function checkValues(out: Violations, at: string, operator: string, values: readonly string[]): void {
  const wantsValues = operator === 'In' || operator === 'NotIn';
  if (wantsValues && values.length === 0) out.push(required(`${at}.values`, `operator ${operator} needs at least one`));
  if (!wantsValues && values.length > 0) out.push(forbidden(`${at}.values`, `operator ${operator} takes none`));
  values.forEach((value, i) => {
    checkRule(out, at, `.values[${i}]`, value, labelValueError(value));
  });
}
