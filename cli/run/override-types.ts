/** How `--overrides` may be meant. */
export const overrideTypes = ['merge', 'strategic', 'json'] as const;
export type OverrideType = (typeof overrideTypes)[number];
