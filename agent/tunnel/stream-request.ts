import type { PodRecord } from '../pod/pod-record.ts';
import type { ContainerAccess } from '../runtime/runtime.ts';

/** What every stream that the server asks for is served with. */
export interface StreamRequest {
  readonly access: ContainerAccess;
  readonly record: PodRecord;
  /** Aborts when the user has gone, the server has, or the agent stops. */
  readonly signal: AbortSignal;
}
