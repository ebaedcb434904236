import { setImmediate as nextTurn } from 'node:timers/promises';
import { isConflict, isNotFound } from '../api/errors/index.ts';
import type { Clock, Logger, PodClient } from '../client/index.ts';
import type { Cache } from './cache/cache.ts';
import { createNodeTable } from './cache/node-table.ts';
import type { Diagnosis, Verdict } from './framework/diagnosis.ts';
import { bindPlacement, type Reservation, reserveAll } from './framework/placement-phase.ts';
import type { Attempt, MakeRoom, Placement, Undo } from './framework/plugin.ts';
import { PluginFault } from './framework/plugin-fault.ts';
import { createRunner, type Decision } from './framework/runner.ts';
import type { SchedulerMeter } from './metrics.ts';
import type { Profile } from './profile.ts';
import type { QueuedPod, QueueOutput, SchedulingQueue } from './queue/scheduling-queue.ts';
import type { Reporter } from './reporter.ts';
import { createSlots } from './slots.ts';

export interface SchedulerOptions {
  readonly profile: Profile;
  readonly cache: Cache;
  readonly queue: QueueOutput & Pick<SchedulingQueue, 'happened'>;
  readonly reporter: Reporter;
  /** Takes victims of preemption away. */
  readonly pods: Pick<PodClient, 'delete'>;
  readonly random: () => number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly meter: SchedulerMeter;
}

/** So many bindings at once keep the API server's group commit full; more only wait there. */
export const maximumBindings = 100;
/** What permit, pre-bind or bind of one plugin may take. */
const bindTimeoutMs = 30_000;
/** Deciding gives way to the network after so long, so that watches and answers keep flowing under load. */
const turnMs = 5;

/**
 * The scheduling loop. Takes pods from the queue one by one; decides each synchronously on the node table, counts it as placed, and binds it in
 * the background while the next is decided. Whatever goes wrong with one pod ends in the queue again, never in the loop.
 */
export interface Scheduler {
  run(signal: AbortSignal): Promise<void>;
}

export function createScheduler(options: SchedulerOptions): Scheduler {
  const { profile, cache, queue, reporter, pods, random, clock, logger, meter } = options;
  const table = createNodeTable();
  const runner = createRunner({ profile, random });
  const slots = createSlots(maximumBindings);

  function attempt(item: QueuedPod, signal: AbortSignal): void {
    try {
      const beganAt = performance.now();
      cache.sync(table);
      const attempt: Attempt = { pod: item.pod, nodes: table, now: clock.now() };
      const decision = runner.decide(attempt);
      meter.decisions.observe((performance.now() - beganAt) / 1000);
      if (decision.kind === 'placed') reserve(item, attempt, decision, signal);
      else park(item, decision.diagnosis, decision.room, signal);
    } catch (error) {
      failed(item, error);
    }
  }

  function reserve(item: QueuedPod, attempt: Attempt, decision: Decision & { kind: 'placed' }, signal: AbortSignal): void {
    const { nodeName, participants } = decision;
    const reservation: Reservation = reserveAll(participants, attempt, nodeName);
    if (reservation.kind === 'refused') {
      refuse(item, nodeName, reservation);
      return;
    }
    const placement = { pod: item.pod, nodeName };
    cache.assume(item.pod, nodeName);
    slots.run(() => bind(item, placement, reservation.undo, signal));
  }

  async function bind(item: QueuedPod, placement: Placement, undo: Undo, signal: AbortSignal): Promise<void> {
    try {
      await reporter.hush(placement.pod);
      const askedAt = clock.now();
      const beganAt = performance.now();
      const outcome = await bindPlacement(placement, { profile, timeoutMs: bindTimeoutMs, signal });
      meter.bindings.observe((performance.now() - beganAt) / 1000);
      if (outcome.kind === 'refused') {
        takeBack(placement, undo);
        refuse(item, placement.nodeName, outcome);
        return;
      }
      cache.acknowledge(placement.pod.uid);
      queue.done(item);
      meter.scheduled.inc();
      reporter.bound(placement.pod, placement.nodeName, askedAt);
    } catch (error) {
      takeBack(placement, undo);
      if (!signal.aborted) bindingFailed(item, placement, error);
    }
  }

  function takeBack({ pod }: Placement, undo: Undo): void {
    cache.forget(pod.uid);
    queue.happened({ kind: 'pod/removed', pod });
    try {
      undo();
    } catch (error) {
      logger.error({ pod: pod.key, err: error }, 'taking back a reservation failed');
    }
  }

  function bindingFailed(item: QueuedPod, { pod, nodeName }: Placement, error: unknown): void {
    // Bound by another scheduler, or the node was filled by one: the watch will tell; nobody needs to read about it.
    if (isConflict(error)) {
      logger.debug({ pod: pod.key, node: nodeName, err: error }, 'binding lost against another writer, will retry');
      queue.retry(item);
      return;
    }
    if (isNotFound(error))
      logger.debug({ pod: pod.key, node: nodeName }, 'pod or node is gone before binding, will retry if the pod is there');
    else logger.warn({ pod: pod.key, node: nodeName, err: error }, 'binding failed, will retry');
    failed(item, error);
  }

  function refuse(item: QueuedPod, nodeName: string, { plugin, rejection }: Verdict): void {
    meter.unschedulable.inc();
    reporter.notBound(item.pod, { reason: 'Unschedulable', message: `node "${nodeName}" was refused: ${rejection.reason}` });
    queue.park(item, [{ plugin, rejection }]);
  }

  function park(item: QueuedPod, diagnosis: Diagnosis, room: MakeRoom | undefined, signal: AbortSignal): void {
    const nominatedNodeName = room?.nominatedNodeName;
    meter.unschedulable.inc();
    reporter.notBound(item.pod, { reason: 'Unschedulable', message: diagnosis.message, nominatedNodeName });
    queue.park(item, diagnosis.verdicts);
    if (room) slots.run(() => evict(room, signal));
  }

  async function evict({ victims }: MakeRoom, signal: AbortSignal): Promise<void> {
    for (const { pod, key, uid } of victims) {
      const { namespace, name = '' } = pod.metadata ?? {};
      try {
        await pods.delete({ namespace, name }, { preconditions: { uid } }, { signal });
        meter.victims.inc();
      } catch (error) {
        if (!isNotFound(error) && !isConflict(error))
          logger.warn({ pod: key, err: error }, 'evicting failed, the preemptor will try again');
      }
    }
  }

  function failed(item: QueuedPod, error: unknown): void {
    meter.error.inc();
    const fault = error instanceof PluginFault;
    if (!fault) logger.error({ pod: item.pod.key, err: error }, 'attempt failed');
    if (!isNotFound(error))
      reporter.notBound(item.pod, { reason: 'SchedulerError', message: error instanceof Error ? error.message : String(error) });
    queue.retry(item);
  }

  return {
    async run(signal) {
      let turnEndsAt = performance.now() + turnMs;
      while (!signal.aborted) {
        await slots.wait(signal);
        await queue.wait(signal);
        if (performance.now() > turnEndsAt) {
          await nextTurn();
          turnEndsAt = performance.now() + turnMs;
        }
        if (signal.aborted) break;
        const item = queue.pop();
        if (item) attempt(item, signal);
      }
      await slots.drained();
    },
  };
}
