import { setImmediate as nextTurn } from 'node:timers/promises';
import { isConflict, isNotFound } from '../api/errors/index.ts';
import type { Clock, Logger } from '../client/index.ts';
import type { Cache } from './cache/cache.ts';
import { createNodeTable } from './cache/node-table.ts';
import type { Diagnosis, Verdict } from './framework/diagnosis.ts';
import type { Participant } from './framework/judge.ts';
import { bindPlacement, type Reservation, reserveAll } from './framework/placement-phase.ts';
import type { Attempt, MakeRoom, Placement, Undo } from './framework/plugin.ts';
import { PluginFault } from './framework/plugin-fault.ts';
import type { PodInfo } from './framework/pod-info.ts';
import { createRunner, type Decision } from './framework/runner.ts';
import type { SchedulerMeter } from './metrics.ts';
import type { PlacementLog } from './placements/placement-log.ts';
import type { Evictor } from './preemption/evictor.ts';
import type { Profile } from './profile.ts';
import type { QueuedPod, QueueOutput, SchedulingQueue } from './queue/scheduling-queue.ts';
import type { Reporter } from './reporter.ts';
import { createSlots } from './slots.ts';

export interface SchedulerOptions {
  /** Of all pods that the queue gives. */
  readonly profiles: readonly Profile[];
  readonly cache: Cache;
  readonly queue: QueueOutput & Pick<SchedulingQueue, 'happened'>;
  readonly reporter: Reporter;
  /** Takes victims of preemption away. */
  readonly evictor: Pick<Evictor, 'evict'>;
  /** Hears of every pod that was bound. */
  readonly placements: Pick<PlacementLog, 'add'>;
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

/** With how much choice there was. */
interface ChosenPlacement extends Placement {
  readonly nodeCount: number;
  readonly fitting: number;
}

interface Reserved {
  readonly undo: Undo;
  readonly participants: readonly Participant[];
}

export function createScheduler(options: SchedulerOptions): Scheduler {
  const { cache, queue, reporter, evictor, placements, random, clock, logger, meter } = options;
  const table = createNodeTable();
  const placers = new Map(
    options.profiles.map((profile) => [profile.schedulerName, { profile, runner: createRunner({ profile, random }) }]),
  );
  const placerOf = ({ schedulerName }: PodInfo) => placers.get(schedulerName)!;
  const slots = createSlots(maximumBindings);

  function attempt(item: QueuedPod, signal: AbortSignal): void {
    try {
      const beganAt = performance.now();
      cache.sync(table, item.pod);
      const nominatedNodeName = cache.nominatedNode(item.pod.uid);
      const { pod, queuedAt: waitingSince } = item;
      const attempt: Attempt = { pod, nodes: table, now: clock.now(), waitingSince, nominatedNodeName };
      const decision = placerOf(item.pod).runner.decide(attempt);
      meter.decisions.observe((performance.now() - beganAt) / 1000);
      if (decision.kind === 'placed') reserve(item, attempt, decision, signal);
      else park(item, decision.diagnosis, decision.room, signal);
    } catch (error) {
      failed(item, error);
    }
  }

  function reserve(item: QueuedPod, attempt: Attempt, decision: Decision & { kind: 'placed' }, signal: AbortSignal): void {
    const { nodeName, participants, feasible } = decision;
    const reservation: Reservation = reserveAll(participants, attempt, nodeName);
    if (reservation.kind === 'refused') {
      refuse(item, nodeName, reservation);
      return;
    }
    const placement = { pod: item.pod, nodeName, nodeCount: attempt.nodes.count, fitting: feasible };
    cache.assume(item.pod, nodeName);
    const { undo } = reservation;
    slots.run(() => bind(item, placement, { undo, participants }, signal));
  }

  const metered = ({ pod }: QueuedPod) => meter.attempts.get(pod.schedulerName)!;

  async function bind(
    item: QueuedPod,
    placement: ChosenPlacement,
    { undo, participants }: Reserved,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await reporter.hush(placement.pod);
      const askedAt = clock.now();
      const beganAt = performance.now();
      const { profile } = placerOf(placement.pod);
      const outcome = await bindPlacement(placement, { profile, participants, timeoutMs: bindTimeoutMs, signal });
      meter.bindings.observe((performance.now() - beganAt) / 1000);
      if (outcome.kind === 'refused') {
        takeBack(placement, undo);
        refuse(item, placement.nodeName, outcome);
        return;
      }
      cache.acknowledge(placement.pod.uid);
      queue.done(item);
      metered(item).scheduled.inc();
      reporter.bound(placement.pod, placement.nodeName, askedAt);
      placements.add(placement.pod, { ...placement, at: askedAt });
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
    // Bound by another scheduler, or the node was filled by one: the watch will tell; it is not logged.
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
    metered(item).unschedulable.inc();
    reporter.notBound(item.pod, { reason: 'Unschedulable', message: `node "${nodeName}" was refused: ${rejection.reason}` });
    queue.park(item, [{ plugin, rejection }]);
  }

  function park(item: QueuedPod, diagnosis: Diagnosis, room: MakeRoom | undefined, signal: AbortSignal): void {
    const { pod } = item;
    const nominatedNodeName = room?.nominatedNodeName ?? '';
    metered(item).unschedulable.inc();
    reporter.notBound(pod, { reason: 'Unschedulable', message: diagnosis.message, nominatedNodeName });
    const leaving = room?.victims.map(({ uid }) => uid);
    queue.park(item, diagnosis.verdicts, leaving);
    if (!room) for (const event of cache.withdraw(pod.uid)) queue.happened(event);
    else if (room.victims.length > 0) makeRoom(pod, room, signal);
  }

  /** Those who waited for room on the node and are less important look elsewhere: theirs is taken. */
  function makeRoom(pod: PodInfo, room: MakeRoom, signal: AbortSignal): void {
    const { nominatedNodeName, victims } = room;
    for (const other of [...cache.nominatedOn(nominatedNodeName)]) {
      if (other.priority >= pod.priority) continue;
      for (const event of cache.withdraw(other.uid)) queue.happened(event);
      reporter.notNominated(other);
      queue.stopWaiting(other.uid);
    }
    cache.nominate(pod, nominatedNodeName);
    meter.victims.inc(victims.length);
    slots.run(async () => {
      if (!(await evictor.evict(pod, room, signal))) queue.stopWaiting(pod.uid);
    });
  }

  function failed(item: QueuedPod, error: unknown): void {
    metered(item).error.inc();
    const fault = error instanceof PluginFault;
    if (!fault) logger.error({ pod: item.pod.key, err: error }, 'attempt failed');
    // The event names the plugin; where in its code it was matters to its author.
    else logger.debug({ pod: item.pod.key, err: error }, 'a plugin failed the attempt');
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
