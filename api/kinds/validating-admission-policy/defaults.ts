import type { ValidatingAdmissionPolicy } from '../../generated/types.ts';
import { defaultMatchResources } from '../match-resources.ts';

export function defaultValidatingAdmissionPolicy({ spec }: ValidatingAdmissionPolicy): void {
  if (!spec) return;
  spec.failurePolicy ??= 'Fail';
  defaultMatchResources(spec.matchConstraints);
}
