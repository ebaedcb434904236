import type { FieldViolation } from '../errors/api-error.ts';
import { duplicate, required } from '../errors/violations.ts';
import type { ConditionLike } from '../meta/conditions.ts';

/** The rules of `status.conditions` of any kind: conditions are merged by type, so each type stands there once. */
export function validateConditions(status: unknown): FieldViolation[] {
  const { conditions = [] } = (status ?? {}) as { conditions?: readonly ConditionLike[] };
  const seen = new Set<string>();
  return conditions.flatMap(({ type, status: value }, i) => {
    const at = `status.conditions[${i}]`;
    const found = [...(type ? [] : [required(`${at}.type`)]), ...(value ? [] : [required(`${at}.status`)])];
    if (type && seen.has(type)) found.push(duplicate(`${at}.type`, type));
    seen.add(type ?? '');
    return found;
  });
}
