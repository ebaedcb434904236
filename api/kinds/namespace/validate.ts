import type { FieldViolation } from '../../errors/api-error.ts';
import type { Namespace } from '../../generated/types.ts';
import { validateFinalizers } from '../metadata.ts';
import { podSecurityLabelErrors } from './pod-security-labels.ts';

export function validateNamespace(namespace: Namespace): FieldViolation[] {
  return [...validateFinalizers('spec.finalizers', namespace.spec?.finalizers ?? []), ...podSecurityLabelErrors(namespace)];
}
