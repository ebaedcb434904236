import { isConflict, isNotFound } from '../../api/errors/index.ts';
import type { Pod, PodStatus } from '../../api/generated/types.ts';
import type { Clock } from '../../client/clock.ts';
import type { ResourceClient } from '../../client/services/resource-client.ts';
import type { Limit } from '../limit.ts';
import type { ContainerRuntime, ObservedContainer } from '../runtime/runtime.ts';
import type { StatusWriter } from '../status/status-writer.ts';
import type { Volumes } from '../volumes/volumes.ts';
import type { Plan, StopInTurn } from './plan.ts';
import type { PodEvents } from './pod-events.ts';
import { isGone } from './pod-lifecycle.ts';
import { advance, type PodRecord } from './pod-record.ts';

export interface StopOptions {
  readonly runtime: ContainerRuntime;
  readonly pods: Pick<ResourceClient<Pod>, 'delete'>;
  readonly volumes: Pick<Volumes, 'removePodVolumes' | 'releasePodVolumes'>;
  readonly status: Pick<StatusWriter, 'write'>;
  readonly events: PodEvents;
  readonly clock: Clock;
  /** Runs what a container is to do before it stops, and says how many seconds are left to it. */
  readonly preStop: (record: PodRecord, container: ObservedContainer, gracePeriodSeconds: number) => Promise<number>;
  /** For removals: they are the engine's work. Waiting for a container to end is not, and has no bound. */
  readonly limit: Limit;
}

type KillPlan = Extract<Plan, { type: 'kill' }>;

export interface Stop extends StopInTurn {
  /** For all turns together. */
  readonly gracePeriodSeconds: number;
}

export interface Stopper {
  /** Stops containers, those of a turn together; false when a newer wish interrupted the wait. */
  stopAll(record: PodRecord, stops: readonly Stop[]): Promise<boolean>;
  removeAll(record: PodRecord, containers: readonly ObservedContainer[]): Promise<void>;
  /** Of a pod that has ended: takes its volumes away while its object stays. */
  releaseVolumes(record: PodRecord): Promise<void>;
  /** Walks a kill to its end: true when nothing is left, neither here nor in the API. */
  kill(
    record: PodRecord,
    plan: KillPlan,
    refresh: () => Promise<void>,
    finalStatus: () => PodStatus | undefined,
  ): Promise<boolean>;
}

const killedBySignal = 137;
/** The grace of a container whose turn comes after the grace period; Kubernetes' value. */
const lastMomentSeconds = 2;

export function createStopper(options: StopOptions): Stopper {
  const { runtime, events, clock, limit } = options;

  async function stopAll(record: PodRecord, wanted: readonly Stop[]): Promise<boolean> {
    if (wanted.length === 0) return true;
    const { signal } = record.interrupt;
    if (signal.aborted) return false;
    const stops = stopInTurn(record, wanted).then(() => true);
    let onAbort = () => {};
    const interrupted = new Promise<false>((resolve) => {
      onAbort = () => resolve(false);
      signal.addEventListener('abort', onAbort, { once: true });
    });
    try {
      return await Promise.race([stops, interrupted]);
    } finally {
      signal.removeEventListener('abort', onAbort);
      // After an interruption it is not awaited; the next step stops again and sees what came of it.
      stops.catch(() => {});
    }
  }

  /** A turn begins when all of the turns before have ended, or when the grace period has; preStop hooks do not wait for their turn. */
  async function stopInTurn(record: PodRecord, wanted: readonly Stop[]): Promise<void> {
    const sinceMs = clock.now();
    const ends = new Map<Stop, Promise<void>>();
    const turns = [...wanted].sort((a, b) => a.turn - b.turn);
    for (const stop of turns) {
      const before = [...ends].filter(([{ turn }]) => turn < stop.turn).map(([, end]) => end);
      ends.set(stop, stopOne(record, stop, before, sinceMs));
    }
    await Promise.all(ends.values());
  }

  async function stopOne(record: PodRecord, stop: Stop, before: readonly Promise<void>[], sinceMs: number): Promise<void> {
    const { container, gracePeriodSeconds } = stop;
    const left = await options.preStop(record, container, gracePeriodSeconds);
    if (before.length === 0 || gracePeriodSeconds === 0) return runtime.stop(container.id, left);
    await within(left * 1000, Promise.allSettled(before));
    const rest = Math.ceil(gracePeriodSeconds - (clock.now() - sinceMs) / 1000);
    await runtime.stop(container.id, Math.max(Math.min(gracePeriodSeconds, lastMomentSeconds), rest));
  }

  /** Waits for something, but no longer than this. */
  async function within(ms: number, wait: Promise<unknown>): Promise<void> {
    let cancel = () => {};
    const over = new Promise<void>((resolve) => {
      cancel = clock.after(ms, resolve);
    });
    await Promise.race([wait, over]);
    cancel();
  }

  async function removeAll(record: PodRecord, containers: readonly ObservedContainer[]): Promise<void> {
    await Promise.all(
      containers.map(async ({ id }) => {
        await limit(() => runtime.remove(id));
        record.containers.delete(id);
        record.resize.applied.delete(id);
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
    async releaseVolumes(record) {
      await options.volumes.releasePodVolumes(record.uid);
      advance(record, { type: 'drop-volumes' });
    },
    async kill(record, plan, refresh, finalStatus) {
      const alive = plan.stop.map(({ container }) => container);
      for (const { containerName } of alive)
        events(record.pod, 'Normal', 'Killing', `Stopping container ${containerName}`, containerName);
      const sinceMs = clock.now();
      const { gracePeriodSeconds } = plan;
      const stops = plan.stop.map((stop) => ({ ...stop, gracePeriodSeconds }));
      if (!(await stopAll(record, stops))) return false;
      const tellsApi = record.pod !== undefined && !isGone(record.life);
      if (tellsApi && alive.length > 0) {
        await refresh();
        tellOfKills(record, alive, gracePeriodSeconds, sinceMs);
      }
      const status = tellsApi && record.containers.size > 0 ? finalStatus() : undefined;
      const written = status !== undefined && record.pod !== undefined ? options.status.write(record.pod, status) : undefined;
      const results = await Promise.allSettled([removeAll(record, [...record.containers.values()]), written]);
      for (const result of results) if (result.status === 'rejected') throw result.reason;
      await options.volumes.removePodVolumes(record.uid);
      advance(record, { type: 'release' });
      if (record.pod !== undefined && !isGone(record.life)) await deleteFromApi(record.pod);
      return true;
    },
  };
}
