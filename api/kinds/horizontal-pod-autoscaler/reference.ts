import { invalidValue, required } from '../../errors/violations.ts';
import type { CrossVersionObjectReference } from '../../generated/types.ts';
import { pathNameError } from '../../meta/names.ts';
import { checkRule, type Violations } from '../checks.ts';

/** An object in the same namespace. */
export function checkReference(out: Violations, at: string, reference: CrossVersionObjectReference): void {
  for (const name of ['kind', 'name'] as const) {
    if (!reference[name]) out.push(required(`${at}.${name}`));
    else checkRule(out, at, `.${name}`, reference[name], pathNameError(reference[name]));
  }
  const { apiVersion = '' } = reference;
  if (apiVersion.split('/').length > 2)
    out.push(invalidValue(`${at}.apiVersion`, apiVersion, 'must be a group and a version such as "apps/v1", or a version'));
}
