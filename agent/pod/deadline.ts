import type { Clock } from '../../client/clock.ts';
import { endingOf, isLeaving } from './pod-lifecycle.ts';
import { deadlineOf, type PodRecord } from './pod-record.ts';

/**
 * At the deadline of a pod, interrupts what its worker waits for, a pull for example. The returned function ends the
 * watch.
 */
export function interruptAtDeadline(record: PodRecord, clock: Clock): () => void {
  const { interrupt, life, pod } = record;
  const seconds = pod?.spec?.activeDeadlineSeconds;
  if (seconds === undefined || isLeaving(life) || endingOf(life) !== undefined) return () => {};
  const nowMs = clock.now();
  // Its time begins with what is said of it first, which may be in this very step.
  const leftMs = (deadlineOf(record) ?? nowMs + seconds * 1000) - nowMs;
  return leftMs <= 0 ? () => {} : clock.after(leftMs, () => interrupt.abort());
}
