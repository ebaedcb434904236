import type { Pod } from '../api/generated/types.ts';
import { createBackoff } from '../client/backoff.ts';
import { type Clock, pause } from '../client/clock.ts';
import type { Informer } from '../client/informer.ts';
import type { Logger } from '../client/logger.ts';
import type { ObjectSource } from './config/objects.ts';
import { mountsObjects } from './config/objects.ts';
import type { RelistMeter } from './metrics.ts';
import { isAlive } from './pod/observation.ts';
import type { PodWorkers } from './pod/pod-workers.ts';
import type { ContainerRuntime } from './runtime/runtime.ts';
import { runTunnel, type TunnelOptions } from './tunnel/tunnel.ts';
import type { Volumes } from './volumes/volumes.ts';

export interface SyncLoopOptions {
  readonly runtime: Pick<ContainerRuntime, 'list' | 'events'>;
  readonly workers: PodWorkers;
  readonly pods: Pick<Informer<Pod>, 'addHandler' | 'waitForSync' | 'lister'>;
  readonly volumes: Pick<Volumes, 'listPods' | 'removePodVolumes' | 'ensureVolumes' | 'podDir'>;
  readonly objects: ObjectSource;
  readonly tunnel: TunnelOptions;
  readonly meter: RelistMeter;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The engine's events are lost now and then: everything is listed again this often. */
const relistMs = 10_000;
/** A changed ConfigMap is in the pods that mount it half a minute later; Kubernetes takes about a minute. */
const refreshMs = 30_000;

/**
 * Feeds the pod workers: wishes from the API, hints and lists from the engine. Nothing is started, stopped or swept before both the
 * API's pods and the engine's containers are known; afterwards an API that is away changes nothing, since what it said last stands.
 */
export async function runSyncLoop(options: SyncLoopOptions, signal: AbortSignal): Promise<void> {
  const { runtime, workers, pods, meter, clock, logger } = options;
  // Hints before the first list, so that nothing falls between the two.
  const events = followEvents(options, signal);
  const removeHandler = pods.addHandler({
    name: 'pod-workers',
    onAdd: workers.update,
    onUpdate(next, old) {
      // The same name with another uid is another pod: the old one went while nobody looked.
      if (next.metadata?.uid !== old.metadata?.uid) workers.removed(old);
      workers.update(next);
    },
    onDelete: workers.removed,
  });
  try {
    await pods.waitForSync(signal);
    const backoff = createBackoff({ maxMs: 5_000 });
    while (!signal.aborted && !(await relist(options))) await pause(backoff.next(), signal, clock);
    if (signal.aborted) return;
    logger.info({ pods: pods.lister.list().length }, 'the agent is in sync');
    await Promise.all([
      workers.run(signal),
      // Not before it is known what runs: a log that goes on after this agent's restart must find its container.
      runTunnel(options.tunnel, signal),
      every(relistMs, () => relist(options), signal, clock),
      every(refreshMs, () => refreshVolumes(options), signal, clock),
      sweepVolumes(options),
    ]);
  } finally {
    removeHandler();
    await events;
  }

  async function relist({ workers: to }: SyncLoopOptions): Promise<boolean> {
    try {
      const sinceMs = clock.now();
      to.relist(await runtime.list(), sinceMs);
      meter.done(sinceMs, clock.now());
      return true;
    } catch (err) {
      meter.failed.inc();
      logger.warn({ err }, 'cannot list containers, will retry');
      return false;
    }
  }
}

async function followEvents({ runtime, workers, meter, clock, logger }: SyncLoopOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const { podUid } of runtime.events(signal)) {
        meter.events.inc();
        workers.wake(podUid);
      }
    } catch (err) {
      logger.warn({ err }, "the engine's events ended, will follow them again");
    }
    await pause(1_000, signal, clock);
  }
}

async function every(ms: number, run: () => Promise<unknown>, signal: AbortSignal, clock: Clock): Promise<void> {
  while (!signal.aborted) {
    await pause(ms, signal, clock);
    if (!signal.aborted) await run();
  }
}

/** Brings changed ConfigMaps and Secrets into the volumes of running pods. */
async function refreshVolumes({ workers, volumes, objects, logger }: SyncLoopOptions): Promise<void> {
  for (const record of workers.records()) {
    const { pod } = record;
    if (pod === undefined || record.kill !== undefined || !mountsObjects(pod) || ![...record.containers.values()].some(isAlive))
      continue;
    try {
      const found = await objects.forPod(pod, refreshMs / 2);
      await volumes.ensureVolumes({ podDir: volumes.podDir(record.uid), volumes: pod.spec?.volumes ?? [], ...found });
    } catch (err) {
      logger.warn({ pod: pod.metadata?.name, err }, 'cannot refresh the volumes of the pod, will retry');
    }
  }
}

/** Folders of pods that neither the API nor the engine knows: left by an agent that was killed in the middle. */
async function sweepVolumes({ workers, volumes, logger }: SyncLoopOptions): Promise<void> {
  try {
    for (const uid of await volumes.listPods()) if (workers.get(uid) === undefined) await volumes.removePodVolumes(uid);
  } catch (err) {
    logger.warn({ err }, 'cannot sweep the folders of pods that are gone; they are swept at the next start');
  }
}
