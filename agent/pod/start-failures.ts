import { isUnavailable } from '../../api/errors/index.ts';
import { ContainerConfigError } from '../config/config-error.ts';
import { RuntimeError } from '../runtime/runtime-error.ts';
import { advance, type PodRecord } from './pod-record.ts';

/** The back-off of a start that failed before the engine was told to create the container. */
export const retry = { initialMs: 1_000, maxMs: 15_000 } as const;
/** The back-off of a container that the engine refused. */
export const startRetry = { initialMs: 10_000, maxMs: 300_000 } as const;

/** An engine that does not answer says nothing about the pod: look again, do not count it against the pod. */
export function rethrowIfAway(record: PodRecord, error: unknown): void {
  const away = error instanceof RuntimeError ? error.code === 'unavailable' || error.code === 'timeout' : isUnavailable(error);
  const foreign = !(error instanceof RuntimeError) && !(error instanceof ContainerConfigError);
  if (!away && !foreign) return;
  advance(record, { type: 'hint' });
  throw error;
}
