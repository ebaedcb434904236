import type { FieldViolation } from '../../errors/api-error.ts';
import { invalidValue } from '../../errors/violations.ts';
import type { Lease } from '../../generated/types.ts';

export function validateLease(lease: Lease): FieldViolation[] {
  const violations: FieldViolation[] = [];
  const { leaseDurationSeconds, leaseTransitions } = lease.spec ?? {};
  if (leaseDurationSeconds !== undefined && leaseDurationSeconds <= 0) {
    violations.push(invalidValue('spec.leaseDurationSeconds', leaseDurationSeconds, 'must be greater than 0'));
  }
  if (leaseTransitions !== undefined && leaseTransitions < 0) {
    violations.push(invalidValue('spec.leaseTransitions', leaseTransitions, 'must not be negative'));
  }
  return violations;
}
