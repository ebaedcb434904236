import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, required } from '../../errors/violations.ts';
import type { IPAddress } from '../../generated/types.ts';
import { equalValues } from '../../meta/equal.ts';
import { pathNameError, subdomainNameError } from '../../meta/names.ts';
import { checkRequired, checkRule, type Violations } from '../checks.ts';

/** Kubernetes' rules. */
export function validateIpAddress({ spec: { parentRef } = {} }: IPAddress): FieldViolation[] {
  const out: Violations = [];
  if (!parentRef) return [required('spec.parentRef')];
  const at = 'spec.parentRef';
  const { group, resource, namespace, name: parent } = parentRef;
  if (group) checkRule(out, at, '.group', group, subdomainNameError(group));
  checkRequired(out, at, '.resource', resource);
  checkRequired(out, at, '.name', parent);
  for (const [field, value] of [['.resource', resource] as const, ['.namespace', namespace] as const, ['.name', parent] as const])
    if (value) checkRule(out, at, field, value, pathNameError(value));
  return out;
}

export function validateIpAddressUpdate({ spec: next }: IPAddress, { spec: previous }: IPAddress): FieldViolation[] {
  return equalValues(next?.parentRef, previous?.parentRef)
    ? []
    : [forbidden('spec.parentRef', 'cannot change; make another object')];
}
