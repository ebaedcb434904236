import type { PodRecord } from './pod-record.ts';

/** Statuses that say "about to start" wait this long for their write: the usual start supersedes them before. */
export const transientMs = 2_500;

/**
 * Reports the status of pods to the API. Called by a pod's worker, and between its steps where something is reported
 * at once; `status/` implements it.
 */
export interface PodReport {
  /** Computes the pod's status and writes it after `delayMs` at most. Not for a pod that is gone. */
  publish(record: PodRecord, delayMs: number): void;
  /** Writes the last computed status again after `delayMs` at most, because another writer changed the API's. */
  repeat(record: PodRecord, delayMs: number): void;
  /** Writes the last status of a pod that leaves; undefined for one that has ended and is reported. Throws ApiError. */
  writeFinal(record: PodRecord): Promise<void> | undefined;
  /** The pod leaves: of its statuses only the final one is written. */
  forget(podUid: string): void;
}
