import type { Clock } from '../../client/clock.ts';
import { deadlineOf, type PodRecord } from './pod-record.ts';

/** What a pod waits for when its time is over, a pull for example, it waits for no longer. The returned function ends the watch. */
export function interruptAtDeadline(record: PodRecord, clock: Clock): () => void {
  const { interrupt, kill, ended, pod } = record;
  const seconds = pod?.spec?.activeDeadlineSeconds;
  if (seconds === undefined || kill !== undefined || ended !== undefined) return () => {};
  const nowMs = clock.now();
  // Its time begins with what is said of it first, which may be in this very step.
  const leftMs = (deadlineOf(record) ?? nowMs + seconds * 1000) - nowMs;
  return leftMs <= 0 ? () => {} : clock.after(leftMs, () => interrupt.abort());
}
