import type { ResourceRequirements } from '../../api/generated/types.ts';
import type { Allocation, PendingResize } from './allocation.ts';

/**
 * How far the size of a pod is:
 *
 *     as asked for --spec changes--> pending --fits--> in progress --every container has it--> as asked for
 *                                    (waits, or for ever)   (an error is tried again)
 */
export interface ResizeState {
  /** What the node has given; undefined until the pod was admitted. */
  allocation: Allocation | undefined;
  pending: PendingResize | undefined;
  inProgress: boolean;
  /** Why a container does not have its size yet, and until when that is left alone. */
  error: { readonly message: string; readonly retryAt: number } | undefined;
  /**
   * What containers were started with or changed to, by their ids; of those from before this agent only their statuses
   * tell.
   */
  readonly applied: Map<string, ResourceRequirements>;
}

export function createResizeState(): ResizeState {
  return { allocation: undefined, pending: undefined, inProgress: false, error: undefined, applied: new Map() };
}
