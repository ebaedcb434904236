import { MetricsRegistry } from '../../api/metrics/index.ts';
import type { Clock } from '../../client/clock.ts';
import type { Logger } from '../../client/logger.ts';
import { createWorkQueue } from '../../client/work-queue/work-queue.ts';
import type { ContainerRuntime } from '../runtime/runtime.ts';
import type { Admit } from './admit.ts';
import type { BackOff } from './back-off.ts';
import type { HealthKeeper } from './health.ts';
import { PlanExecution } from './plan-execution.ts';
import type { PodEvents } from './pod-events.ts';
import { createPodIntake, type PodIntake } from './pod-intake.ts';
import type { PodRecord } from './pod-record.ts';
import { createRefresh } from './pod-refresh.ts';
import type { PodReport } from './pod-report.ts';
import { PodStep } from './pod-step.ts';
import { PodTable } from './pod-table.ts';
import type { Resizer } from './resize.ts';
import type { Starter } from './start-containers.ts';
import type { Stopper } from './stop-containers.ts';
import type { TerminationMessages } from './termination-messages.ts';

export interface PodWorkersOptions {
  readonly runtime: Pick<ContainerRuntime, 'list'>;
  readonly starter: Starter;
  readonly stopper: Stopper;
  readonly report: PodReport;
  readonly events: PodEvents;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: MetricsRegistry;
  readonly admit: Admit;
  readonly health: HealthKeeper;
  readonly backOff: BackOff;
  readonly resizer: Resizer;
  readonly messages: Pick<TerminationMessages, 'collect'>;
  /** Told when a pod has ended and nothing is left of it. */
  gone?(podUid: string): void;
}

/**
 * One worker for each pod, by uid: wishes and hints come in at any time, the newest wish is worked on, one step after
 * the other. What is handed in before `run` waits. Nothing here throws; a step that fails is tried again with back-off.
 */
export interface PodWorkers extends PodIntake {
  records(): Iterable<PodRecord>;
  get(podUid: string): PodRecord | undefined;
  run(signal: AbortSignal): Promise<void>;
}

/**
 * As many as a node may have pods, and some: a worker that waits for a grace period or a pull must not keep another pod
 * waiting.
 */
const workers = 256;

export function createPodWorkers(options: PodWorkersOptions): PodWorkers {
  const { clock, logger, health, metrics = new MetricsRegistry() } = options;
  const table = new PodTable();
  const queue = createWorkQueue({ name: 'pods', backoff: { initialMs: 200, maxMs: 10_000 }, clock, logger, metrics });
  const refresh = createRefresh(options);
  const execution = new PlanExecution({ ...options, table, queue, refresh });
  const step = new PodStep({ ...options, metrics, table, queue, refresh, execution });
  const intake = createPodIntake({ ...options, table, queue, isInStep: (podUid) => step.isRunning(podUid) });
  return {
    update: (pod) => intake.update(pod),
    removed: (pod, mostGraceSeconds) => intake.removed(pod, mostGraceSeconds),
    wake: (podUid) => intake.wake(podUid),
    evict: (podUid, why) => intake.evict(podUid, why),
    look: (podUid) => intake.look(podUid),
    relist: (all, sinceMs, synced) => intake.relist(all, sinceMs, synced),
    records: () => table.all(),
    get: (podUid) => table.get(podUid),
    async run(signal) {
      await queue.run(workers, (podUid) => step.run(podUid), signal);
      // Their timers would keep the process alive.
      for (const { uid } of table.all()) health.forget(uid);
    },
  };
}
