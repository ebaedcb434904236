import { isStaticUid } from '../../api/kinds/pod/static-pods.ts';
import type { MetricsRegistry } from '../../api/metrics/index.ts';
import type { Clock } from '../../client/clock.ts';
import type { WorkQueue } from '../../client/work-queue/work-queue.ts';
import { agentMetrics } from '../metrics.ts';
import type { Admit } from './admit.ts';
import type { BackOff } from './back-off.ts';
import { computeActions } from './compute-actions.ts';
import { decideDeadline } from './early-end.ts';
import type { HealthKeeper } from './health.ts';
import { observe } from './observation.ts';
import type { Plan } from './plan.ts';
import type { PlanExecution } from './plan-execution.ts';
import type { PodEvents } from './pod-events.ts';
import { departureOf, endingOf, isAdmitted, isLeaving } from './pod-lifecycle.ts';
import { advance, deadlineOf, type PodRecord } from './pod-record.ts';
import type { Refresh } from './pod-refresh.ts';
import type { PodTable } from './pod-table.ts';
import type { Resizer } from './resize.ts';
import { givenPod } from './room.ts';
import type { TerminationMessages } from './termination-messages.ts';

export interface PodStepOptions {
  readonly table: PodTable;
  readonly queue: Pick<WorkQueue, 'add' | 'addAfter'>;
  readonly execution: PlanExecution;
  readonly refresh: Refresh;
  readonly admit: Admit;
  readonly resizer: Pick<Resizer, 'allocate' | 'change'>;
  readonly messages: Pick<TerminationMessages, 'collect'>;
  readonly health: HealthKeeper;
  readonly backOff: BackOff;
  readonly events: PodEvents;
  readonly clock: Clock;
  readonly metrics: MetricsRegistry;
}

/** Plans of one pod before others have their turn. */
const maxPlans = 5;
/** How soon a pod that does not fit looks again while others are still leaving. */
const roomCheckMs = 500;

/** A worker's step for one pod: look, decide, execute the plan, until nothing is left to do. */
export class PodStep {
  readonly #options: PodStepOptions;
  readonly #seconds: { observe(seconds: number): void };
  readonly #running = new Set<string>();

  constructor(options: PodStepOptions) {
    this.#options = options;
    this.#seconds = options.metrics.histogram(agentMetrics.syncs).with();
  }

  /** Whether a step of the pod runs, which may wait long. */
  isRunning(podUid: string): boolean {
    return this.#running.has(podUid);
  }

  /** Called by one worker at a time for a pod. Throws what the engine and the API throw: the step is tried again. */
  async run(podUid: string): Promise<void> {
    const { clock } = this.#options;
    const beganAt = clock.now();
    this.#running.add(podUid);
    try {
      await this.#run(podUid);
    } finally {
      this.#running.delete(podUid);
      this.#seconds.observe((clock.now() - beganAt) / 1000);
    }
  }

  async #run(podUid: string): Promise<void> {
    const { table, queue, refresh, messages, admit } = this.#options;
    const record = table.get(podUid);
    if (record === undefined || !(table.isListed || isStaticUid(podUid))) return;
    if (record.life.isStale) await refresh(record);
    for (let count = 0; count < maxPlans; count++) {
      await messages.collect(record);
      if (!(await admit(record, table.all()))) return queue.addAfter(podUid, roomCheckMs);
      if ((await this.#decideAndExecute(record)) === 'done') return;
    }
    queue.add(podUid);
  }

  async #decideAndExecute(record: PodRecord): Promise<'done' | 'again'> {
    const { table, execution, resizer, clock } = this.#options;
    // From here to the plan without waiting: a wish that comes later interrupts what the plan waits for.
    record.interrupt = new AbortController();
    this.#endAtDeadline(record);
    if (!isLeaving(record.life) && isAdmitted(record.life)) resizer.allocate(record, table.all());
    const disarm = interruptAtDeadline(record, clock);
    try {
      return await execution.execute(record, this.#plan(record));
    } finally {
      disarm();
    }
  }

  #endAtDeadline(record: PodRecord): void {
    const why = decideDeadline(record, this.#options.clock.now());
    if (why === undefined) return;
    advance(record, { type: 'end', why });
    this.#options.events(record.pod, 'Normal', why.reason, why.message);
  }

  #plan(record: PodRecord): Plan {
    const { health, backOff, resizer, clock } = this.#options;
    const { life } = record;
    health.sync(record);
    return computeActions(givenPod(record), observe(record.containers.values()), clock.now(), {
      kill: departureOf(life),
      finished: life.decision.type === 'refused' || life.decision.type === 'ended',
      deadlineAt: deadlineOf(record),
      previous: record.status ?? record.pod?.status,
      notBefore: (name) => record.blocked.get(name)?.notBefore,
      health,
      backOff,
      sizeChange: (container, running) => resizer.change(record, container, running),
    });
  }
}

/**
 * At the deadline of a pod, interrupts what its worker waits for, a pull for example. The returned function ends the
 * watch.
 */
function interruptAtDeadline(record: PodRecord, clock: Clock): () => void {
  const { interrupt, life, pod } = record;
  const seconds = pod?.spec?.activeDeadlineSeconds;
  if (seconds === undefined || isLeaving(life) || endingOf(life) !== undefined) return () => {};
  const nowMs = clock.now();
  // The time of a pod begins with its first status, which this very step may report.
  const leftMs = (deadlineOf(record) ?? nowMs + seconds * 1000) - nowMs;
  return leftMs <= 0 ? () => {} : clock.after(leftMs, () => interrupt.abort());
}
