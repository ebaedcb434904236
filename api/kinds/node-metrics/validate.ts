import type { FieldViolation } from '../../errors/api-error.ts';
import type { NodeMetrics } from '../../generated/types.ts';
import { validateQuantities } from '../quantities.ts';

export function validateNodeMetrics(metrics: NodeMetrics): FieldViolation[] {
  const violations = validateQuantities('usage', metrics.usage);
  metrics.pods?.forEach((pod, i) => {
    pod.containers?.forEach((container, j) => {
      violations.push(...validateQuantities(`pods[${i}].containers[${j}].usage`, container.usage));
    });
  });
  return violations;
}
