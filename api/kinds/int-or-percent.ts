import { invalidValue } from '../errors/violations.ts';
import type { IntOrString } from '../generated/types.ts';
import { checkRange, type Violations } from './checks.ts';
import { percentOf } from './pod-disruption-budget/scaled.ts';

/** A number that is not negative, or a percentage; of the whole at most all of it unless `exceedsWhole` is set. */
export function checkIntOrPercent(
  out: Violations,
  at: string,
  value: IntOrString | undefined,
  { exceedsWhole = false }: { readonly exceedsWhole?: boolean } = {},
): void {
  if (!value) return;
  if (value.type !== 1) {
    checkRange(out, at, '', value.intVal ?? 0, 0);
    return;
  }
  const percent = percentOf(value.strVal ?? '');
  if (percent === undefined) out.push(invalidValue(at, value.strVal, 'must be a number, or a percentage such as "50%"'));
  else if (percent > 100 && !exceedsWhole) out.push(invalidValue(at, value.strVal, 'must not be greater than 100%'));
}

/** Whether a number or percentage asks for nothing. What is neither asks for something: it is refused for itself. */
export function isNothing(value: IntOrString | undefined): boolean {
  return value?.type === 1 ? percentOf(value.strVal ?? '') === 0 : (value?.intVal ?? 0) === 0;
}

/** A number or percentage as it is written. */
export function formatIntOrString({ type, intVal = 0, strVal = '' }: IntOrString): string {
  return type === 1 ? strVal : String(intVal);
}
