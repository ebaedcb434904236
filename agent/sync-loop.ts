import type { Pod } from '../api/generated/types.ts';
import { isStaticUid } from '../api/kinds/pod/static-pods.ts';
import { createBackoff } from '../client/backoff.ts';
import { type Clock, pause } from '../client/clock.ts';
import type { Informer } from '../client/informer/informer.ts';
import type { Logger } from '../client/logger.ts';
import type { RelistMeter } from './metrics.ts';
import type { PodWorkers } from './pod/pod-workers.ts';
import type { ContainerRuntime } from './runtime/runtime.ts';
import { podHandler, type StaticPods } from './static-pods/static-pods.ts';
import { runTunnel, type TunnelOptions } from './tunnel/tunnel.ts';
import { createDiskLimits } from './volumes/disk-limits.ts';
import type { PodVolumes } from './volumes/pod-volumes.ts';
import { createVolumeRefresher } from './volumes/refresher.ts';
import type { Volumes } from './volumes/volumes.ts';

export interface SyncLoopOptions {
  readonly runtime: Pick<ContainerRuntime, 'list' | 'events'>;
  readonly workers: PodWorkers;
  readonly statics: StaticPods;
  /** Whether another agent may live under this node's name. */
  isContested(): boolean;
  readonly pods: Pick<Informer<Pod>, 'addHandler' | 'waitForSync' | 'hasSynced' | 'lister'>;
  readonly volumes: Pick<Volumes, 'listPods' | 'removePodVolumes' | 'podDir'>;
  readonly podVolumes: Pick<PodVolumes, 'refresh'>;
  readonly tunnel: TunnelOptions;
  readonly meter: RelistMeter;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The engine's events are lost now and then: everything is listed again this often. */
const relistMs = 10_000;
/** Static pods need no API, but with it more is known of them: what was said of them last. */
const headStartMs = 2_000;
/** How often is looked whether the node's name is this agent's. */
const contestedMs = 500;

/**
 * Feeds the pod workers: wishes from the API and from files, hints and lists from the engine. Nothing of the API's is
 * started, stopped or swept before both the API's pods and the engine's containers are known; afterwards an API that is
 * away changes nothing, since what it said last stands. Static pods do not wait for the API.
 */
export async function runSyncLoop(options: SyncLoopOptions, signal: AbortSignal): Promise<void> {
  const { runtime, workers, statics, pods, volumes, podVolumes, meter, clock, logger } = options;
  const refresher = createVolumeRefresher({ podVolumes, records: workers.records, get: workers.get, clock, logger });
  const { records, evict } = workers;
  const diskLimits = createDiskLimits({ records, podDir: (podUid: string) => volumes.podDir(podUid), evict, clock });
  // Hints before the first list, so that nothing falls between the two.
  const events = followEvents(options, signal);
  const removeHandler = pods.addHandler(podHandler({ workers, statics, changed: refresher.changed }));
  try {
    await untilWishes(options, signal);
    await statics.look();
    await untilListed();
    if (signal.aborted) return;
    await Promise.all([
      workers.run(signal),
      every(relistMs, relist, signal, clock),
      refresher.run(signal),
      diskLimits.run(signal),
      statics.run(signal),
      inSync(),
    ]);
  } finally {
    removeHandler();
    await events;
  }

  /** Whatever needs the API's pods. */
  async function inSync(): Promise<void> {
    if (!pods.hasSynced()) {
      await pods.waitForSync(signal);
      await untilListed();
    }
    if (signal.aborted) return;
    logger.info({ pods: pods.lister.list().length }, 'the agent is in sync');
    // Only after the inventory is complete: a log that resumes after this agent's restart must find its container.
    await Promise.all([runTunnel(options.tunnel, signal), sweepVolumes(options), statics.keepMirrors(signal)]);
  }

  async function untilListed(): Promise<void> {
    const backoff = createBackoff({ maxMs: 5_000 });
    while (!signal.aborted && !(await relist())) await pause(backoff.next(), signal, clock);
  }

  async function relist(): Promise<boolean> {
    try {
      const sinceMs = clock.now();
      const all = await runtime.list();
      workers.relist(all, sinceMs, { api: pods.hasSynced(), files: statics.isKnown() });
      meter.done(sinceMs, clock.now());
      return true;
    } catch (err) {
      meter.failed.inc();
      logger.warn({ err }, 'cannot list containers, will retry');
      return false;
    }
  }
}

async function untilWishes({ pods, statics, isContested, clock }: SyncLoopOptions, signal: AbortSignal): Promise<void> {
  const known = pods.waitForSync(signal);
  if (!statics.enabled) return known;
  const waited = new AbortController();
  await Promise.race([known, pause(headStartMs, AbortSignal.any([signal, waited.signal]), clock)]);
  waited.abort();
  // The static pods of another live agent are not this one's to sweep.
  while (!signal.aborted && !pods.hasSynced() && isContested()) await pause(contestedMs, signal, clock);
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

/** Folders of pods that neither the API nor the engine knows: left by an agent that was killed in the middle. */
async function sweepVolumes({ workers, statics, volumes, logger }: SyncLoopOptions): Promise<void> {
  try {
    for (const uid of await volumes.listPods()) {
      const isWanted = workers.get(uid) !== undefined || (isStaticUid(uid) && !statics.isKnown());
      if (!isWanted) await volumes.removePodVolumes(uid);
    }
  } catch (err) {
    logger.warn({ err }, 'cannot sweep the folders of pods that are gone; they are swept at the next start');
  }
}
