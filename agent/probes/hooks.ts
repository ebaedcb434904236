import type { LifecycleHandler } from '../../api/generated/types.ts';
import { type Clock, pause } from '../../client/clock.ts';
import type { Logger } from '../../client/logger.ts';
import type { PodEvents } from '../pod/pod-events.ts';
import type { PodRecord } from '../pod/pod-record.ts';
import type { CommandRunner, ObservedContainer } from '../runtime/runtime.ts';
import type { CheckTarget } from './check.ts';
import { maxOutputBytes } from './check-result.ts';
import { runHandler } from './run-handler.ts';
import { addressOf, specOf } from './targets.ts';

export interface HooksOptions {
  readonly commands: CommandRunner;
  readonly events: PodEvents;
  /** The machine's address, for pods in its network. */
  readonly hostIP: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Hooks {
  /** Runs a container's postStart hook: whether all is well. Never throws; only its signal bounds it. */
  postStart(target: CheckTarget, signal: AbortSignal): Promise<boolean>;
  /**
   * Runs a container's preStop hook, where it has one, and says how many seconds its container is left to end in. A
   * hook that is not over within the grace period is given up. Called again it waits for the same run, and one that has
   * ended is not run again. Never throws.
   */
  preStop(record: PodRecord, container: ObservedContainer, gracePeriodSeconds: number): Promise<number>;
}

/** A preStop hook of one container. */
interface Run {
  readonly ended: Promise<void>;
  readonly abort: AbortController;
}

/** However long its hook took, a container gets a moment between the signal to end and its death; kubelet's figure. */
const leastGraceSeconds = 2;

export function createHooks(options: HooksOptions): Hooks {
  const { events, clock, logger } = options;
  /** By pod and container: a stop is tried again when the engine was away, or with less time. */
  const runs = new WeakMap<PodRecord, Map<string, Run>>();

  async function run(name: 'PostStartHook' | 'PreStopHook', hook: LifecycleHandler, target: CheckTarget, signal: AbortSignal) {
    const { pod, container, containerId } = target;
    const result = await runHandler({ commands: options.commands, clock, maxBytes: maxOutputBytes }, hook, target, signal);
    if (signal.aborted || result === 'done') return true;
    // What a hook says may be secret: the event has the reason alone, the agent's log all of it.
    logger.warn({ pod: pod.metadata?.name, container: container.name, containerId, output: result.output }, `${name} failed`);
    events(pod, 'Warning', `Failed${name}`, `${name} failed: ${result.reason}`, container.name);
    return false;
  }

  function begin(record: PodRecord, observed: ObservedContainer, hook: LifecycleHandler): Run {
    const abort = new AbortController();
    const pod = record.pod ?? {};
    const container = specOf(pod, observed.containerName) ?? {};
    const target = { pod, container, containerId: observed.id, podIP: addressOf(record, pod, options.hostIP) };
    return { abort, ended: run('PreStopHook', hook, target, abort.signal).then(() => {}) };
  }

  function runOf(record: PodRecord, observed: ObservedContainer, hook: LifecycleHandler): Run {
    const ofPod = runs.get(record) ?? new Map<string, Run>();
    runs.set(record, ofPod);
    for (const id of ofPod.keys()) if (!record.containers.has(id)) ofPod.delete(id);
    const run = ofPod.get(observed.id) ?? begin(record, observed, hook);
    ofPod.set(observed.id, run);
    return run;
  }

  return {
    postStart: (target, signal) => run('PostStartHook', target.container.lifecycle?.postStart ?? {}, target, signal),
    async preStop(record, observed, gracePeriodSeconds) {
      const hook = specOf(record.pod, observed.containerName)?.lifecycle?.preStop;
      if (hook === undefined || gracePeriodSeconds <= 0) return gracePeriodSeconds;
      const { ended, abort } = runOf(record, observed, hook);
      const sinceMs = clock.now();
      const over = new AbortController();
      void ended.then(() => over.abort());
      await pause(gracePeriodSeconds * 1000, over.signal, clock);
      abort.abort();
      const usedSeconds = Math.min(gracePeriodSeconds, Math.max(0, clock.now() - sinceMs) / 1000);
      return Math.max(leastGraceSeconds, gracePeriodSeconds - usedSeconds);
    },
  };
}
