import type { Pod } from '../../api/generated/types.ts';
import type { Clock } from '../../client/clock.ts';
import type { WorkQueue } from '../../client/work-queue/work-queue.ts';
import { sandboxName } from '../runtime/runtime.ts';
import type { HealthKeeper } from './health.ts';
import { observe, readySandbox } from './observation.ts';
import type { Action, Plan } from './plan.ts';
import type { PodEvents } from './pod-events.ts';
import { endingOf } from './pod-lifecycle.ts';
import { graceOf, type PodRecord } from './pod-record.ts';
import type { Refresh } from './pod-refresh.ts';
import { type PodReport, transientMs } from './pod-report.ts';
import type { PodTable } from './pod-table.ts';
import type { Resizer } from './resize.ts';
import { givenPod } from './room.ts';
import type { Starter } from './start-containers.ts';
import type { Stopper } from './stop-containers.ts';

export interface PlanExecutionOptions {
  readonly table: PodTable;
  readonly queue: Pick<WorkQueue, 'add' | 'addAfter'>;
  readonly starter: Starter;
  readonly stopper: Stopper;
  readonly resizer: Pick<Resizer, 'settle' | 'update' | 'wakeAt'>;
  readonly report: Pick<PodReport, 'publish' | 'forget'>;
  readonly refresh: Refresh;
  readonly health: Pick<HealthKeeper, 'forget'>;
  readonly events: PodEvents;
  readonly clock: Clock;
  /** Told when a pod has ended and nothing is left of it. */
  gone?(podUid: string): void;
}

/** `again` when the pod has to be looked at anew at once. */
export type Outcome = 'done' | 'again';

type PlanOf<T extends Plan['type']> = Extract<Plan, { type: T }>;
type ActionOf<T extends Action['type']> = Extract<Action, { type: T }>;

/** Executes the plans of pods. Throws what the engine and the API throw; the pod is looked at again then. */
export class PlanExecution {
  readonly #options: PlanExecutionOptions;

  constructor(options: PlanExecutionOptions) {
    this.#options = options;
  }

  async execute(record: PodRecord, plan: Plan): Promise<Outcome> {
    switch (plan.type) {
      case 'kill':
        return this.#kill(record, plan);
      case 'finish':
        return this.#finish(record, plan);
      case 'sync':
        return this.#sync(record, plan);
    }
  }

  async #kill(record: PodRecord, plan: PlanOf<'kill'>): Promise<Outcome> {
    const { table, queue, stopper, report, refresh, health, clock, gone } = this.#options;
    report.forget(record.uid);
    if (!(await stopper.kill(record, plan, () => refresh(record)))) return 'again';
    table.drop(record.uid, clock.now());
    health.forget(record.uid);
    report.forget(record.uid);
    gone?.(record.uid);
    for (const other of table.all()) if (other.resize.pending?.reason === 'Deferred') queue.add(other.uid);
    return 'done';
  }

  async #finish(record: PodRecord, plan: PlanOf<'finish'>): Promise<Outcome> {
    const { stopper, report, refresh, events } = this.#options;
    const { life } = record;
    report.publish(record, 0);
    await stopper.removeAll(record, plan.remove);
    if (plan.stop.length === 0) {
      // Nothing of it runs again: what its containers wrote to its own volumes is of no use, and takes room.
      if (life.type !== 'finished') await stopper.releaseVolumes(record);
      return 'done';
    }
    const gracePeriodSeconds = endingOf(record.life)?.gracePeriodSeconds ?? (record.pod === undefined ? 0 : graceOf(record.pod));
    for (const { containerName } of plan.stop.map(({ container }) => container)) {
      if (containerName !== sandboxName)
        events(record.pod, 'Normal', 'Killing', `Stopping container ${containerName}`, containerName);
    }
    await stopper.stopAll(
      record,
      plan.stop.map((stop) => ({ ...stop, gracePeriodSeconds })),
    );
    await refresh(record);
    return 'again';
  }

  async #sync(record: PodRecord, { actions, wakeAt }: PlanOf<'sync'>): Promise<Outcome> {
    const { resizer, report } = this.#options;
    resizer.settle(record);
    const earliest = Math.min(wakeAt ?? Number.POSITIVE_INFINITY, resizer.wakeAt(record) ?? Number.POSITIVE_INFINITY);
    // A queued pod is Pending, as the API server created it: no status write is needed yet.
    if (actionsOf(actions, 'run-container').length === 0) report.publish(record, 0);
    else if (record.containers.size > 0) report.publish(record, transientMs);
    if (earliest < Number.POSITIVE_INFINITY) this.#wakeLater(record, earliest);
    const pod = givenPod(record);
    return actions.length === 0 || pod === undefined ? 'done' : this.#act(record, pod, actions);
  }

  async #act(record: PodRecord, pod: Pod, actions: readonly Action[]): Promise<Outcome> {
    const { stopper, resizer, refresh } = this.#options;
    // First: a container that is updated in place does not wait for another one's grace period.
    await resizer.update(record, actionsOf(actions, 'update-container'));
    const stops = actionsOf(actions, 'stop-container');
    if (!(await this.#stop(record, pod, stops))) return 'again';
    const removals = actionsOf(actions, 'remove-container').map(({ container }) => container);
    // One that was created and never started holds the name of the one that comes next.
    await stopper.removeAll(
      record,
      removals.filter(({ state }) => state === 'created'),
    );
    const removed = stopper.removeAll(
      record,
      removals.filter(({ state }) => state !== 'created'),
    );
    const started = this.#start(record, pod, actions);
    const results = await Promise.allSettled([removed, started]);
    if (stops.length > 0) await refresh(record);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    return 'again';
  }

  /** False when a newer wish interrupted the wait. */
  #stop(record: PodRecord, pod: Pod, stops: readonly ActionOf<'stop-container'>[]): Promise<boolean> {
    const { stopper, events } = this.#options;
    for (const { container, why } of stops) events(pod, 'Normal', 'Killing', why, container.containerName);
    const graceSeconds = graceOf(pod);
    return stopper.stopAll(
      record,
      stops.map((stop) => ({ gracePeriodSeconds: graceSeconds, ...stop, turn: 0 })),
    );
  }

  /** Starts what the plan starts, in the planned sandbox or in the one that is ready. */
  async #start(record: PodRecord, pod: Pod, actions: readonly Action[]): Promise<void> {
    const { starter, report, events } = this.#options;
    const starts = actionsOf(actions, 'run-container');
    const [planned] = actionsOf(actions, 'run-sandbox');
    if (planned !== undefined && planned.attempt > 0)
      events(pod, 'Normal', 'SandboxChanged', 'Pod sandbox changed, it will be killed and re-created.');
    const sandbox = planned ?? readySandbox(observe(record.containers.values()));
    if (sandbox === undefined || starts.length === 0) return;
    await starter.start({ record, pod, sandbox, starts, onBegin: () => report.publish(record, transientMs) });
  }

  /** Also for the moment when the words for a failure change. */
  #wakeLater(record: PodRecord, wakeAt: number): void {
    const { queue, clock } = this.#options;
    const nowMs = clock.now();
    const turns = [...record.blocked.values()].map((blocked) => blocked.laterFrom ?? 0).filter((at) => at > nowMs);
    queue.addAfter(record.uid, Math.max(1, Math.min(wakeAt, ...turns) - nowMs));
  }
}

function actionsOf<T extends Action['type']>(actions: readonly Action[], type: T): ActionOf<T>[] {
  return actions.filter((action): action is ActionOf<T> => action.type === type);
}
