import { isConflict, isNotFound } from '../../api/errors/index.ts';
import type { Pod, PodStatus } from '../../api/generated/types.ts';
import type { Clock } from '../../client/clock.ts';
import type { ResourceClient } from '../../client/resource-client.ts';
import type { Limit } from '../limit.ts';
import type { ContainerRuntime, ObservedContainer } from '../runtime/runtime.ts';
import type { StatusWriter } from '../status/status-writer.ts';
import type { Volumes } from '../volumes/volumes.ts';
import type { Plan } from './compute-actions.ts';
import { isAlive } from './observation.ts';
import type { PodEvents } from './pod-events.ts';
import type { PodRecord } from './pod-record.ts';

export interface StopOptions {
  readonly runtime: ContainerRuntime;
  readonly pods: Pick<ResourceClient<Pod>, 'delete'>;
  readonly volumes: Pick<Volumes, 'removePodVolumes'>;
  readonly status: Pick<StatusWriter, 'write'>;
  readonly events: PodEvents;
  readonly clock: Clock;
  /** For removals: they are the engine's work. Waiting for a container to end is not, and has no bound. */
  readonly limit: Limit;
}

type KillPlan = Extract<Plan, { type: 'kill' }>;

export interface Stopper {
  /** Stops containers at once, all together; false when a newer wish interrupted the wait. */
  stopAll(record: PodRecord, containers: readonly ObservedContainer[], gracePeriodSeconds: number): Promise<boolean>;
  removeAll(record: PodRecord, containers: readonly ObservedContainer[]): Promise<void>;
  /** Walks a kill to its end: true when nothing is left, neither here nor in the API. */
  kill(
    record: PodRecord,
    plan: KillPlan,
    refresh: () => Promise<void>,
    finalStatus: () => PodStatus | undefined,
  ): Promise<boolean>;
}

const killedBySignal = 137;

export function createStopper(options: StopOptions): Stopper {
  const { runtime, events, clock, limit } = options;

  async function stopAll(
    record: PodRecord,
    containers: readonly ObservedContainer[],
    gracePeriodSeconds: number,
  ): Promise<boolean> {
    if (containers.length === 0) return true;
    const { signal } = record.interrupt;
    const stops = Promise.all(containers.map((container) => runtime.stop(container.id, gracePeriodSeconds))).then(() => true);
    if (signal.aborted) return stops;
    let onAbort = () => {};
    const interrupted = new Promise<false>((resolve) => {
      onAbort = () => resolve(false);
      signal.addEventListener('abort', onAbort, { once: true });
    });
    try {
      return await Promise.race([stops, interrupted]);
    } finally {
      signal.removeEventListener('abort', onAbort);
      // After an interruption nobody waits for it; the next step stops again and sees what came of it.
      stops.catch(() => {});
    }
  }

  async function removeAll(record: PodRecord, containers: readonly ObservedContainer[]): Promise<void> {
    await Promise.all(
      containers.map(async ({ id }) => {
        await limit(() => runtime.remove(id));
        record.containers.delete(id);
      }),
    );
  }

  /** Says of which containers the grace period was not enough. */
  function tellOfKills(record: PodRecord, stopped: readonly ObservedContainer[], seconds: number, sinceMs: number): void {
    if (seconds === 0 || clock.now() - sinceMs < seconds * 1000) return;
    for (const { id, containerName } of stopped) {
      if (record.containers.get(id)?.exitCode !== killedBySignal) continue;
      const message = `Container ${containerName} did not end within its grace period of ${seconds}s and was killed`;
      events(record.pod, 'Warning', 'Killing', message, containerName);
    }
  }

  async function deleteFromApi(pod: Pod): Promise<void> {
    const { namespace, name = '', uid } = pod.metadata ?? {};
    try {
      await options.pods.delete({ namespace, name }, { gracePeriodSeconds: 0, preconditions: uid === undefined ? {} : { uid } });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  return {
    stopAll,
    removeAll,
    async kill(record, plan, refresh, finalStatus) {
      const alive = plan.containers.filter(isAlive);
      for (const { containerName } of alive)
        events(record.pod, 'Normal', 'Killing', `Stopping container ${containerName}`, containerName);
      const sinceMs = clock.now();
      if (!(await stopAll(record, alive, plan.gracePeriodSeconds))) return false;
      const tellsApi = record.pod !== undefined && !record.gone;
      if (tellsApi && alive.length > 0) {
        await refresh();
        tellOfKills(record, alive, plan.gracePeriodSeconds, sinceMs);
      }
      const status = tellsApi && record.containers.size > 0 ? finalStatus() : undefined;
      const written = status !== undefined && record.pod !== undefined ? options.status.write(record.pod, status) : undefined;
      const results = await Promise.allSettled([removeAll(record, [...record.containers.values()]), written]);
      for (const result of results) if (result.status === 'rejected') throw result.reason;
      await options.volumes.removePodVolumes(record.uid);
      record.released = true;
      if (record.pod !== undefined && !record.gone) await deleteFromApi(record.pod);
      return true;
    },
  };
}
