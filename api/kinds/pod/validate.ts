import type { FieldViolation } from '../../errors/api-error.ts';
import { required } from '../../errors/violations.ts';
import type { Pod } from '../../generated/types.ts';

export function validatePod(pod: Pod): FieldViolation[] {
  const violations: FieldViolation[] = [];
  const containers = pod.spec?.containers ?? [];
  if (containers.length === 0) violations.push(required('spec.containers'));
  containers.forEach((container, i) => {
    if (!container.name) violations.push(required(`spec.containers[${i}].name`));
    if (!container.image) violations.push(required(`spec.containers[${i}].image`));
  });
  return violations;
}
