import type { ApiObject } from './kind.ts';

/**
 * The status of a new object until its controller writes one: the counts that Kubernetes always shows, which are 0.
 * Clients in Go and Python do without no required number.
 */
export function startsWith<T extends ApiObject & { status?: object }>(status: NonNullable<T['status']>): (object: T) => void {
  return (object) => {
    object.status = { ...status };
  };
}
