import type { ContainerStatus, Pod, PodStatus } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import type { Clock } from '../../client/clock.ts';
import type { BackOff } from '../pod/back-off.ts';
import { waitingOf } from '../pod/blocked.ts';
import type { HealthKeeper } from '../pod/health.ts';
import { observe } from '../pod/observation.ts';
import type { PodEvents } from '../pod/pod-events.ts';
import { endingOf, isGone, isLeaving, refusalOf } from '../pod/pod-lifecycle.ts';
import type { PodRecord } from '../pod/pod-record.ts';
import type { PodReport } from '../pod/pod-report.ts';
import { givenPod } from '../pod/room.ts';
import { computeStatus } from './compute-status.ts';
import { withResizeStatus } from './resize-status.ts';
import type { StatusWriter } from './status-writer.ts';

export interface StatusReportOptions {
  readonly writer: Pick<StatusWriter, 'set' | 'write' | 'forget'>;
  readonly events: PodEvents;
  readonly health: HealthKeeper;
  readonly backOff: BackOff;
  readonly hostIP: string;
  readonly clock: Clock;
}

/** Reports what `computeStatus` says of a pod's record through the status writer. */
export function createStatusReport(options: StatusReportOptions): PodReport {
  return new StatusReport(options);
}

class StatusReport implements PodReport {
  readonly #options: StatusReportOptions;

  constructor(options: StatusReportOptions) {
    this.#options = options;
  }

  publish(record: PodRecord, delayMs: number): void {
    const { events, writer } = this.#options;
    const { pod } = record;
    if (pod === undefined || isGone(record.life)) return;
    // What ended before this agent knew it, and left nothing here, was reported by the agent before.
    if (isFinished(pod) && record.containers.size === 0) return;
    const before = record.status;
    record.status = this.#statusOf(record, pod);
    for (const name of newCrashLoops(before, record.status)) {
      const message = `Back-off restarting failed container ${name} in pod ${pod.metadata?.name}_${pod.metadata?.namespace}(${record.uid})`;
      events(pod, 'Warning', 'BackOff', message, name);
    }
    writer.set(pod, record.status, delayMs);
  }

  repeat({ pod, status }: PodRecord, delayMs: number): void {
    if (pod !== undefined && status !== undefined) this.#options.writer.set(pod, status, delayMs);
  }

  writeFinal(record: PodRecord): Promise<void> | undefined {
    const { pod } = record;
    if (pod === undefined || isFinished(pod)) return undefined;
    return this.#options.writer.write(pod, this.#statusOf(record, pod));
  }

  forget(podUid: string): void {
    this.#options.writer.forget(podUid);
  }

  #statusOf(record: PodRecord, pod: Pod): PodStatus {
    const { health, backOff, hostIP, clock } = this.#options;
    const nowMs = clock.now();
    health.sync(record);
    const status = computeStatus({
      pod,
      previous: record.status ?? pod.status,
      observed: observe(record.containers.values()),
      nowMs,
      hostIP,
      killing: isLeaving(record.life),
      refused: refusalOf(record.life),
      waiting: (name) => waitingOf(record, name, nowMs),
      health,
      backOff,
      ended: endingOf(record.life),
      messages: record.messages,
    });
    return withResizeStatus(status, record, givenPod(record) ?? pod, nowMs);
  }
}

/** The containers that wait after a crash now and did not before, or not for this restart. */
function newCrashLoops(before: PodStatus | undefined, after: PodStatus): string[] {
  const waits = (status: ContainerStatus | undefined) => status?.state?.waiting?.reason === 'CrashLoopBackOff';
  const all = ({ initContainerStatuses = [], containerStatuses = [] }: PodStatus) => [
    ...initContainerStatuses,
    ...containerStatuses,
  ];
  const known = new Map(all(before ?? {}).map((status) => [status.name, status]));
  return all(after).flatMap((status) => {
    const last = known.get(status.name);
    return waits(status) && !(waits(last) && last?.restartCount === status.restartCount) ? [status.name ?? ''] : [];
  });
}
