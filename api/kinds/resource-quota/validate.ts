import type { FieldViolation } from '../../errors/api-error.ts';
import { invalidValue, notSupported, required } from '../../errors/violations.ts';
import type { Quantity, ResourceQuota, ResourceQuotaSpec, ScopedResourceSelectorRequirement } from '../../generated/types.ts';
import { checkRule, type Violations } from '../checks.ts';
import { isStandardQuotaName, quotaNameError, resourceAmountError } from '../resource-names.ts';

const PODS = ['pods'];
const OF_PODS = ['cpu', 'memory', 'limits.cpu', 'limits.memory', 'requests.cpu', 'requests.memory', ...PODS];

/** Which resources each scope can narrow. */
const scopes: Readonly<Record<string, readonly string[]>> = {
  Terminating: OF_PODS,
  NotTerminating: OF_PODS,
  BestEffort: PODS,
  NotBestEffort: OF_PODS,
  PriorityClass: OF_PODS,
  CrossNamespacePodAffinity: OF_PODS,
  VolumeAttributesClass: ['persistentvolumeclaims', 'requests.storage'],
};
/** Scopes that something is of or not; the others have values. */
const WITHOUT_VALUES = ['Terminating', 'NotTerminating', 'BestEffort', 'NotBestEffort', 'CrossNamespacePodAffinity'];
const OPPOSITES = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
] as const;
const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

export function validateResourceQuota({ spec = {} }: ResourceQuota): FieldViolation[] {
  const out: Violations = [];
  checkAmounts(out, 'spec.hard', spec.hard);
  spec.scopes?.forEach((scope, i) => {
    checkScope(out, `spec.scopes[${i}]`, scope, spec);
  });
  checkOpposites(out, 'spec.scopes', spec.scopes ?? []);
  const expressions = spec.scopeSelector?.matchExpressions ?? [];
  expressions.forEach((expression, i) => {
    const at = `spec.scopeSelector.matchExpressions[${i}]`;
    checkScope(out, `${at}.scopeName`, expression.scopeName ?? '', spec);
    checkExpression(out, at, expression);
  });
  checkOpposites(
    out,
    'spec.scopeSelector.matchExpressions',
    expressions.map(({ scopeName = '' }) => scopeName),
  );
  return out;
}

function checkAmounts(out: Violations, at: string, amounts: Readonly<Record<string, Quantity>> | undefined): void {
  for (const name in amounts) {
    const text = amounts[name]?.string;
    checkRule(out, at, `[${name}]`, name, quotaNameError(name));
    checkRule(out, at, `[${name}]`, text, resourceAmountError(name, text));
  }
}

function checkScope(out: Violations, field: string, scope: string, { hard = {} }: ResourceQuotaSpec): void {
  const narrowed = Object.hasOwn(scopes, scope) ? scopes[scope] : undefined;
  if (!narrowed) {
    out.push(notSupported(field, scope, Object.keys(scopes)));
    return;
  }
  const others = Object.keys(hard).filter((name) => isStandardQuotaName(name) && !narrowed.includes(name));
  for (const name of others.toSorted()) out.push(invalidValue(field, scope, `does not apply to the resource ${name}`));
}

function checkOpposites(out: Violations, field: string, named: readonly string[]): void {
  for (const [one, other] of OPPOSITES)
    if (named.includes(one) && named.includes(other))
      out.push(invalidValue(field, named.join(), `nothing is of the scopes ${one} and ${other} at once`));
}

function checkExpression(out: Violations, at: string, expression: ScopedResourceSelectorRequirement): void {
  const { scopeName = '', operator = '', values = [] } = expression;
  if (!OPERATORS.includes(operator)) out.push(notSupported(`${at}.operator`, operator, OPERATORS));
  else if (WITHOUT_VALUES.includes(scopeName) && operator !== 'Exists')
    out.push(invalidValue(`${at}.operator`, operator, `must be Exists with the scope ${scopeName}`));
  const wantsValues = operator === 'In' || operator === 'NotIn';
  if (wantsValues && values.length === 0) out.push(required(`${at}.values`, `operator ${operator} needs at least one`));
  if (!wantsValues && values.length > 0)
    out.push(invalidValue(`${at}.values`, values.join(), `must be empty with operator ${operator}`));
}

/** What is counted stays what it was: the amount in use would be another's. */
export function validateResourceQuotaUpdate(next: ResourceQuota, previous: ResourceQuota): FieldViolation[] {
  const [now, was] = [new Set(next.spec?.scopes), new Set(previous.spec?.scopes)];
  if (now.size === was.size && [...now].every((scope) => was.has(scope))) return [];
  return [invalidValue('spec.scopes', [...now].join(), 'cannot change; make another quota')];
}

export function validateResourceQuotaStatus({ status = {} }: ResourceQuota): FieldViolation[] {
  const out: Violations = [];
  checkAmounts(out, 'status.hard', status.hard);
  checkAmounts(out, 'status.used', status.used);
  return out;
}
