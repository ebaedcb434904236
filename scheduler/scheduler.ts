import { setImmediate as nextTurn } from 'node:timers/promises';
import { isConflict, isNotFound } from '../api/errors/index.ts';
import type { Clock, Logger } from '../client/index.ts';
import type { Cache } from './cache/cache.ts';
import { createNodeTable } from './cache/node-table.ts';
import { type Diagnosis, type Verdict, wordRejection } from './framework/diagnosis.ts';
import type { Participant } from './framework/judge.ts';
import { bindPlacement, type Reservation, reserveAll } from './framework/placement-phase.ts';
import type { Attempt, MakeRoom, Placement, Undo } from './framework/plugin.ts';
import { PluginFault } from './framework/plugin-fault.ts';
import type { PodInfo } from './framework/pod-info.ts';
import { createRunner, type Decision, type Runner } from './framework/runner.ts';
import type { AttemptCounters, SchedulerMeter } from './metrics.ts';
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
 * The scheduling loop. Takes pods from the queue one by one; decides each synchronously on the node table, counts it as
 * placed, and binds it in the background while the next is decided. Whatever goes wrong with one pod ends in the queue
 * again, never in the loop.
 */
export interface Scheduler {
  run(signal: AbortSignal): Promise<void>;
}

/** With how much choice there was. */
interface ChosenPlacement extends Placement {
  readonly nodeCount: number;
  readonly fitting: number;
}

interface Placer {
  readonly profile: Profile;
  readonly runner: Runner;
}

interface Reserved {
  readonly undo: Undo;
  readonly participants: readonly Participant[];
}

export function createScheduler(options: SchedulerOptions): Scheduler {
  return new SchedulingLoop(options);
}

class SchedulingLoop implements Scheduler {
  readonly #options: SchedulerOptions;
  readonly #table = createNodeTable();
  readonly #placers: ReadonlyMap<string, Placer>;
  readonly #slots = createSlots(maximumBindings);

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#placers = new Map(
      options.profiles.map((profile) => [
        profile.schedulerName,
        { profile, runner: createRunner({ profile, random: options.random }) },
      ]),
    );
  }

  async run(signal: AbortSignal): Promise<void> {
    let turnEndsAt = performance.now() + turnMs;
    while (!signal.aborted) {
      await this.#slots.wait(signal);
      await this.#options.queue.wait(signal);
      if (performance.now() > turnEndsAt) {
        await nextTurn();
        turnEndsAt = performance.now() + turnMs;
      }
      if (signal.aborted) break;
      const item = this.#options.queue.pop();
      if (item) this.#attempt(item, signal);
    }
    await this.#slots.drained();
  }

  #placerOf({ schedulerName }: PodInfo): Placer {
    return this.#placers.get(schedulerName)!;
  }

  #attempt(item: QueuedPod, signal: AbortSignal): void {
    try {
      const beganAt = performance.now();
      this.#options.cache.sync(this.#table, item.pod);
      const nominatedNodeName = this.#options.cache.nominatedNode(item.pod.uid);
      const { pod, queuedAt: waitingSince } = item;
      const attempt: Attempt = { pod, nodes: this.#table, now: this.#options.clock.now(), waitingSince, nominatedNodeName };
      const decision = this.#placerOf(item.pod).runner.decide(attempt);
      this.#options.meter.decisions.observe((performance.now() - beganAt) / 1000);
      if (decision.kind === 'placed') this.#reserve(item, attempt, decision, signal);
      else this.#park(item, decision.diagnosis, decision.room, signal);
    } catch (error) {
      this.#failed(item, error);
    }
  }

  #reserve(item: QueuedPod, attempt: Attempt, decision: Decision & { kind: 'placed' }, signal: AbortSignal): void {
    const { nodeName, participants, feasible } = decision;
    const reservation: Reservation = reserveAll(participants, attempt, nodeName);
    if (reservation.kind === 'refused') {
      this.#refuse(item, nodeName, reservation);
      return;
    }
    const placement = { pod: item.pod, nodeName, nodeCount: attempt.nodes.count, fitting: feasible };
    this.#options.cache.assume(item.pod, nodeName);
    const { undo } = reservation;
    this.#slots.run(() => this.#bind(item, placement, { undo, participants }, signal));
  }

  #metered({ pod }: QueuedPod): AttemptCounters {
    return this.#options.meter.attempts.get(pod.schedulerName)!;
  }

  async #bind(item: QueuedPod, placement: ChosenPlacement, { undo, participants }: Reserved, signal: AbortSignal): Promise<void> {
    try {
      await this.#options.reporter.hush(placement.pod);
      const askedAt = this.#options.clock.now();
      const beganAt = performance.now();
      const { profile } = this.#placerOf(placement.pod);
      const outcome = await bindPlacement(placement, { profile, participants, timeoutMs: bindTimeoutMs, signal });
      this.#options.meter.bindings.observe((performance.now() - beganAt) / 1000);
      if (outcome.kind === 'refused') {
        this.#takeBack(placement, undo);
        this.#refuse(item, placement.nodeName, outcome);
        return;
      }
      this.#options.cache.acknowledge(placement.pod.uid);
      this.#options.queue.done(item);
      this.#metered(item).scheduled.inc();
      this.#options.reporter.bound(placement.pod, placement.nodeName, askedAt);
      this.#options.placements.add(placement.pod, { ...placement, at: askedAt });
    } catch (error) {
      this.#takeBack(placement, undo);
      if (!signal.aborted) this.#bindingFailed(item, placement, error);
    }
  }

  #takeBack({ pod }: Placement, undo: Undo): void {
    this.#options.cache.forget(pod.uid);
    this.#options.queue.happened({ kind: 'pod/removed', pod });
    try {
      undo();
    } catch (error) {
      this.#options.logger.error({ pod: pod.key, err: error }, 'taking back a reservation failed');
    }
  }

  #bindingFailed(item: QueuedPod, { pod, nodeName }: Placement, error: unknown): void {
    // Bound by another scheduler, or the node was filled by one: the watch will tell; it is not logged.
    if (isConflict(error)) {
      this.#options.logger.debug({ pod: pod.key, node: nodeName, err: error }, 'binding lost against another writer, will retry');
      this.#options.queue.retry(item);
      return;
    }
    if (isNotFound(error))
      this.#options.logger.debug(
        { pod: pod.key, node: nodeName },
        'pod or node is gone before binding, will retry if the pod is there',
      );
    else this.#options.logger.warn({ pod: pod.key, node: nodeName, err: error }, 'binding failed, will retry');
    this.#failed(item, error);
  }

  #refuse(item: QueuedPod, nodeName: string, { plugin, rejection }: Verdict): void {
    this.#metered(item).unschedulable.inc();
    this.#options.reporter.notBound(item.pod, {
      reason: 'Unschedulable',
      message: `node "${nodeName}" was refused: ${wordRejection(rejection)}`,
    });
    this.#options.queue.park(item, [{ plugin, rejection }]);
  }

  #park(item: QueuedPod, diagnosis: Diagnosis, room: MakeRoom | undefined, signal: AbortSignal): void {
    const { pod } = item;
    const nominatedNodeName = room?.nominatedNodeName ?? '';
    this.#metered(item).unschedulable.inc();
    this.#options.reporter.notBound(pod, { reason: 'Unschedulable', message: diagnosis.message, nominatedNodeName });
    const leaving = room?.victims.map(({ uid }) => uid);
    this.#options.queue.park(item, diagnosis.verdicts, leaving);
    if (!room) for (const event of this.#options.cache.withdraw(pod.uid)) this.#options.queue.happened(event);
    else if (room.victims.length > 0) this.#makeRoom(pod, room, signal);
  }

  /** Less important pods that were nominated to the node lose their nomination: the room is taken. */
  #makeRoom(pod: PodInfo, room: MakeRoom, signal: AbortSignal): void {
    const { nominatedNodeName, victims } = room;
    for (const other of [...this.#options.cache.nominatedOn(nominatedNodeName)]) {
      if (other.priority >= pod.priority) continue;
      for (const event of this.#options.cache.withdraw(other.uid)) this.#options.queue.happened(event);
      this.#options.reporter.notNominated(other);
      this.#options.queue.stopWaiting(other.uid);
    }
    this.#options.cache.nominate(pod, nominatedNodeName);
    this.#options.meter.victims.inc(victims.length);
    this.#slots.run(async () => {
      if (!(await this.#options.evictor.evict(pod, room, signal))) this.#options.queue.stopWaiting(pod.uid);
    });
  }

  #failed(item: QueuedPod, error: unknown): void {
    this.#metered(item).error.inc();
    const fault = error instanceof PluginFault;
    if (!fault) this.#options.logger.error({ pod: item.pod.key, err: error }, 'attempt failed');
    // The event names the plugin; where in its code it was matters to its author.
    else this.#options.logger.debug({ pod: item.pod.key, err: error }, 'a plugin failed the attempt');
    if (!isNotFound(error))
      this.#options.reporter.notBound(item.pod, {
        reason: 'SchedulerError',
        message: error instanceof Error ? error.message : String(error),
      });
    this.#options.queue.retry(item);
  }
}
