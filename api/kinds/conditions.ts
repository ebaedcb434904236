import type { FieldViolation } from '../errors/api-error.ts';
import { duplicate, required } from '../errors/violations.ts';
import type { ConditionLike } from '../meta/conditions.ts';

/** What a condition may have to say. */
export type ConditionNeed = 'type' | 'status';

/**
 * The rules of `status.conditions` of any kind: conditions are merged by type, so each type stands there once. Only of
 * some kinds each must have a type or a status, as in Kubernetes.
 */
export function validateConditions(status: unknown, needs: readonly ConditionNeed[] = []): FieldViolation[] {
  const { conditions = [] } = (status ?? {}) as { conditions?: readonly ConditionLike[] };
  const seen = new Set<string>();
  return conditions.flatMap((condition, i) => {
    const { type = '' } = condition;
    const found = needs.filter((need) => !condition[need]).map((need) => required(`status.conditions[${i}].${need}`));
    if (type !== '' && seen.has(type)) found.push(duplicate(`status.conditions[${i}].type`, type));
    seen.add(type);
    return found;
  });
}
