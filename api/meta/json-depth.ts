/**
 * How deeply JSON from outside may be nested. The API's own messages have at most 32 levels;
 * far below what a recursive reader can take.
 */
export const maxJsonDepth = 128;

/** Whether lists and objects are nested more deeply than allowed. Looks no deeper than that itself. */
export function isTooDeep(value: unknown, left = maxJsonDepth): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (left === 0) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (isTooDeep(item, left - 1)) return true;
    return false;
  }
  for (const key in value) if (isTooDeep((value as Record<string, unknown>)[key], left - 1)) return true;
  return false;
}

export const tooDeepText = `is nested more than ${maxJsonDepth} levels deep`;
