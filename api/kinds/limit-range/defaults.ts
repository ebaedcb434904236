import type { LimitRange } from '../../generated/types.ts';

/** What containers get that say nothing: the limit is the maximum; the request is that limit, then the minimum. */
export function defaultLimitRange({ spec }: LimitRange): void {
  for (const item of spec?.limits ?? []) {
    if (item.type !== 'Container') continue;
    item.default = { ...item.max, ...item.default };
    item.defaultRequest = { ...item.min, ...item.default, ...item.defaultRequest };
  }
}
