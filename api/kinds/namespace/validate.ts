import type { FieldViolation } from '../../errors/api-error.ts';
import { invalidValue } from '../../errors/violations.ts';
import type { Namespace } from '../../generated/types.ts';
import { qualifiedNameError } from '../../meta/names.ts';

export function validateNamespace(namespace: Namespace): FieldViolation[] {
  const violations: FieldViolation[] = [];
  namespace.spec?.finalizers?.forEach((finalizer, i) => {
    const rule = qualifiedNameError(finalizer);
    if (rule) violations.push(invalidValue(`spec.finalizers[${i}]`, finalizer, rule));
  });
  return violations;
}
