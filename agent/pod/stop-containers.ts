import { isConflict, isNotFound } from '../../api/errors/index.ts';
import type { Pod } from '../../api/generated/types.ts';
import type { ResourceClient } from '../../client/services/resource-client.ts';
import type { Limit } from '../limit.ts';
import type { ContainerRuntime, ObservedContainer } from '../runtime/runtime.ts';
import type { Volumes } from '../volumes/volumes.ts';
import type { Plan } from './plan.ts';
import type { PodEvents } from './pod-events.ts';
import { isGone } from './pod-lifecycle.ts';
import { advance, type PodRecord } from './pod-record.ts';
import type { PodReport } from './pod-report.ts';
import { type Stop, type StopInTurnOptions, TurnStopper } from './stop-in-turn.ts';

export interface StopOptions extends StopInTurnOptions {
  readonly runtime: Pick<ContainerRuntime, 'stop' | 'remove'>;
  readonly pods: Pick<ResourceClient<Pod>, 'delete'>;
  readonly volumes: Pick<Volumes, 'removePodVolumes' | 'releasePodVolumes'>;
  readonly report: Pick<PodReport, 'writeFinal'>;
  readonly events: PodEvents;
  readonly drained?: Drained;
  /** For removals: they are the engine's work. Waiting for a container to end is not, and has no bound. */
  readonly limit: Limit;
}

/**
 * Resolves when no Service leads new connections to a pod whose deletion has begun; undefined where none does. Never
 * rejects.
 */
export type Drained = (pod: Pod, gracePeriodSeconds: number, signal: AbortSignal) => Promise<void> | undefined;

type KillPlan = Extract<Plan, { type: 'kill' }>;

export interface Stopper {
  /** Stops containers, those of a turn together; false when a newer wish interrupted the wait. */
  stopAll(record: PodRecord, stops: readonly Stop[]): Promise<boolean>;
  removeAll(record: PodRecord, containers: readonly ObservedContainer[]): Promise<void>;
  /** Of a pod that has ended: takes its volumes away while its object stays. */
  releaseVolumes(record: PodRecord): Promise<void>;
  /**
   * Walks a kill to its end: true when nothing is left, neither here nor in the API. `refresh` lists the pod's
   * containers anew.
   */
  kill(record: PodRecord, plan: KillPlan, refresh: () => Promise<void>): Promise<boolean>;
}

const killedBySignal = 137;

export function createStopper(options: StopOptions): Stopper {
  return new PodStopper(options);
}

class PodStopper implements Stopper {
  readonly #options: StopOptions;
  readonly #turns: TurnStopper;

  constructor(options: StopOptions) {
    this.#options = options;
    this.#turns = new TurnStopper(options);
  }

  stopAll(record: PodRecord, stops: readonly Stop[]): Promise<boolean> {
    return this.#turns.stopAll(record, stops);
  }

  async removeAll(record: PodRecord, containers: readonly ObservedContainer[]): Promise<void> {
    const { limit, runtime } = this.#options;
    await Promise.all(
      containers.map(async ({ id }) => {
        await limit(() => runtime.remove(id));
        record.containers.delete(id);
        record.resize.applied.delete(id);
      }),
    );
  }

  async releaseVolumes(record: PodRecord): Promise<void> {
    await this.#options.volumes.releasePodVolumes(record.uid);
    advance(record, { type: 'drop-volumes' });
  }

  async kill(record: PodRecord, plan: KillPlan, refresh: () => Promise<void>): Promise<boolean> {
    const { events, clock, report, volumes, drained } = this.#options;
    const { gracePeriodSeconds } = plan;
    const alive = plan.stop.map(({ container }) => container);
    for (const { containerName } of alive)
      events(record.pod, 'Normal', 'Killing', `Stopping container ${containerName}`, containerName);
    const sinceMs = clock.now();
    const tellsApi = !isGone(record.life);
    const stops = plan.stop.map((stop) => ({ ...stop, gracePeriodSeconds }));
    const { pod } = record;
    const mayDrain = pod !== undefined && alive.length > 0 && gracePeriodSeconds > 0 && tellsApi;
    const held = mayDrain ? drained?.(pod, gracePeriodSeconds, record.interrupt.signal) : undefined;
    if (!(await this.#turns.stopAll(record, stops, held))) return false;
    if (tellsApi && alive.length > 0) {
      await refresh();
      this.#tellOfKills(record, alive, gracePeriodSeconds, sinceMs);
    }
    const written = tellsApi && record.containers.size > 0 ? report.writeFinal(record) : undefined;
    const results = await Promise.allSettled([this.removeAll(record, [...record.containers.values()]), written]);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    await volumes.removePodVolumes(record.uid);
    advance(record, { type: 'release' });
    if (record.pod !== undefined && !isGone(record.life)) await this.#deleteFromApi(record.pod);
    return true;
  }

  /** Says of which containers the grace period was not enough. */
  #tellOfKills(record: PodRecord, stopped: readonly ObservedContainer[], seconds: number, sinceMs: number): void {
    const { events, clock } = this.#options;
    if (seconds === 0 || clock.now() - sinceMs < seconds * 1000) return;
    for (const { id, containerName } of stopped) {
      if (record.containers.get(id)?.exitCode !== killedBySignal) continue;
      const message = `Container ${containerName} did not end within its grace period of ${seconds}s and was killed`;
      events(record.pod, 'Warning', 'Killing', message, containerName);
    }
  }

  async #deleteFromApi(pod: Pod): Promise<void> {
    const { namespace, name = '', uid } = pod.metadata ?? {};
    try {
      const preconditions = uid === undefined ? {} : { uid };
      await this.#options.pods.delete({ namespace, name }, { gracePeriodSeconds: 0, preconditions });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}
