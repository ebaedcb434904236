import type { Node } from '../../generated/types.ts';

/** What is missing in capacity or allocatable is taken from the other. */
export function defaultNode(node: Node): void {
  const status = node.status;
  if (status?.capacity && !status.allocatable) status.allocatable = { ...status.capacity };
}
