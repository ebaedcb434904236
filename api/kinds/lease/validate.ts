import type { FieldViolation } from '../../errors/api-error.ts';
import { invalidValue } from '../../errors/violations.ts';
import type { Lease } from '../../generated/types.ts';

export function validateLease(lease: Lease): FieldViolation[] {
  const violations: FieldViolation[] = [];
  const { leaseDurationSeconds, leaseTransitions, holderIdentity } = lease.spec ?? {};
  if (leaseDurationSeconds !== undefined && leaseDurationSeconds <= 0) {
    violations.push(invalidValue('spec.leaseDurationSeconds', leaseDurationSeconds, 'must be greater than 0'));
  }
  if (leaseTransitions !== undefined && leaseTransitions < 0) {
    violations.push(invalidValue('spec.leaseTransitions', leaseTransitions, 'must not be negative'));
  }
  if (holderIdentity === '')
    violations.push(invalidValue('spec.holderIdentity', '', 'must not be empty; leave it out when nobody holds the lease'));
  return violations;
}
