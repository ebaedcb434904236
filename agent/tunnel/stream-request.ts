import type { PodRecord } from '../pod/pod-record.ts';
import type { ContainerAccess } from '../runtime/runtime.ts';

/** The dependencies of every stream that the server requests. */
export interface StreamRequest {
  readonly access: ContainerAccess;
  readonly record: PodRecord;
  /** Aborts when the user has gone, the server has, or the agent stops. */
  readonly signal: AbortSignal;
}
