import type { PolicyRule } from '../api/generated/types.ts';

/** A rule of RBAC, for `ControllerDefinition.rules`; the group of the core kinds is "". */
export const rule = (verbs: readonly string[], group: string, ...resources: string[]): PolicyRule => ({
  apiGroups: [group],
  resources,
  verbs: [...verbs],
});

/** Status is written as a whole, or patched. */
export const writeStatus = (group: string, plural: string): PolicyRule => rule(['update', 'patch'], group, `${plural}/status`);
