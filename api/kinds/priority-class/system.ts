import type { PriorityClass } from '../../generated/types.ts';

/**
 * The classes that the API server makes itself, above everything that a user can define: for what a cluster or a node
 * needs to work.
 */
export const systemPriorityClasses: readonly (PriorityClass & { readonly metadata: { readonly name: string } })[] = [
  {
    metadata: { name: 'system-cluster-critical' },
    value: 2_000_000_000,
    description: 'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
  },
  {
    metadata: { name: 'system-node-critical' },
    value: 2_000_001_000,
    description: 'Used for system critical pods that must not be moved from their current node.',
  },
];

export const systemPrefix = 'system-';
export const highestUserPriority = 1_000_000_000;

export function isSystemPriorityClass(name: string | undefined): boolean {
  return systemPriorityClasses.some(({ metadata }) => metadata.name === name);
}
