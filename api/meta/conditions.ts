import type { Timestamp } from '../generated/types.ts';

/** What the conditions of all kinds have in common. */
export interface ConditionLike {
  type?: string;
  status?: string;
  lastTransitionTime?: Timestamp;
}

export function findCondition<T extends ConditionLike>(conditions: readonly T[] | undefined, type: string): T | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** Whether the condition is there and "True". */
export function isConditionTrue(conditions: readonly ConditionLike[] | undefined, type: string): boolean {
  return findCondition(conditions, type)?.status === 'True';
}

/**
 * The list with one condition set, merged by type: the others stay as they are and where they are. `lastTransitionTime`
 * becomes `now` when the status changes and is kept otherwise, whatever the caller put there. Changes neither argument.
 */
export function setCondition<T extends ConditionLike>(conditions: readonly T[] | undefined, next: T, now: Timestamp): T[] {
  const list = conditions ?? [];
  const previous = findCondition(list, next.type ?? '');
  const kept = previous?.status === next.status ? previous?.lastTransitionTime : undefined;
  const merged: T = { ...next, lastTransitionTime: kept ?? now };
  return previous ? list.map((condition) => (condition === previous ? merged : condition)) : [...list, merged];
}

/** The list with several conditions set, each as with setCondition. */
export function setConditions<T extends ConditionLike>(
  conditions: readonly T[] | undefined,
  next: readonly T[],
  now: Timestamp,
): T[] {
  return next.reduce<T[]>((list, condition) => setCondition(list, condition, now), [...(conditions ?? [])]);
}
