import type { FieldViolation } from '../errors/api-error.ts';
import { duplicate, required } from '../errors/violations.ts';
import type { ConditionLike } from '../meta/conditions.ts';

/** What a condition may have to say, and whether there may be another of its type ("once"). */
export type ConditionNeed = 'type' | 'status' | 'once';

/**
 * The rules of `status.conditions`, which only some kinds have, as in Kubernetes. Of all others any list is taken: of
 * two conditions of one type, readers see the first.
 */
export function validateConditions(status: unknown, needs: readonly ConditionNeed[] = []): FieldViolation[] {
  const { conditions = [] } = (status ?? {}) as { conditions?: readonly ConditionLike[] };
  const seen = new Set<string>();
  return conditions.flatMap((condition, i) => {
    const { type = '' } = condition;
    const found = (['type', 'status'] as const)
      .filter((need) => needs.includes(need) && !condition[need])
      .map((need) => required(`status.conditions[${i}].${need}`));
    if (needs.includes('once') && type !== '' && seen.has(type)) found.push(duplicate(`status.conditions[${i}].type`, type));
    seen.add(type);
    return found;
  });
}
