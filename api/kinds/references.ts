import type { TypedLocalObjectReference } from '../generated/types.ts';
import { pathNameError, subdomainNameError } from '../meta/names.ts';
import { checkRequired, checkRule, type Violations } from './checks.ts';

/** A reference to an object of any kind, by Kubernetes' rules. */
export function checkTypedReference(out: Violations, at: string, { apiGroup, kind, name }: TypedLocalObjectReference): void {
  if (apiGroup !== undefined) checkRule(out, at, '.apiGroup', apiGroup, subdomainNameError(apiGroup));
  for (const [field, value] of [['.kind', kind] as const, ['.name', name] as const]) {
    checkRequired(out, at, field, value);
    if (value) checkRule(out, at, field, value, pathNameError(value));
  }
}
