import type { Pod } from '../../api/generated/types.ts';
import type { Clock } from '../../client/clock.ts';
import { computeSandboxConfig } from '../config/container-config.ts';
import type { SecuritySource } from '../config/security-facts.ts';
import type { Limit } from '../limit.ts';
import type { ContainerRuntime, CreatedSandbox, ObservedContainer } from '../runtime/runtime.ts';
import { RuntimeError } from '../runtime/runtime-error.ts';
import { wordsOf } from '../words-of.ts';
import { block } from './blocked.ts';
import { justMade } from './own-clock.ts';
import type { Action } from './plan.ts';
import type { PodEvents } from './pod-events.ts';
import type { PodRecord } from './pod-record.ts';
import { rethrowIfAway, retry } from './start-failures.ts';

export interface SandboxStarterOptions {
  readonly runtime: Pick<ContainerRuntime, 'runSandbox'>;
  readonly security: Pick<SecuritySource, 'runtimeHandler'>;
  readonly events: PodEvents;
  readonly clock: Clock;
  readonly limit: Limit;
  readonly sandboxImage: string;
}

export interface SandboxStart {
  readonly record: PodRecord;
  readonly pod: Pod;
  /** The one to make, or the one that is ready. */
  readonly sandbox: Extract<Action, { type: 'run-sandbox' }> | ObservedContainer;
  /** Called when work on the pod starts; before that it is queued. May be called more than once. */
  readonly onBegin: () => void;
}

/** A sandbox that is being started. */
export interface SandboxToCome {
  /** Once containers can be created in it, where that is before it runs; undefined otherwise. */
  readonly created: Promise<CreatedSandbox | undefined>;
  /** Once it runs; undefined when it does not. Rejects only when the engine is away. */
  readonly ready: Promise<ObservedContainer | undefined>;
}

/** Runs sandboxes. What fails is in the pod's record with its back-off, and in its events. */
export class SandboxStarter {
  readonly #options: SandboxStarterOptions;

  constructor(options: SandboxStarterOptions) {
    this.#options = options;
  }

  start(request: SandboxStart): SandboxToCome {
    let onCreated: (sandbox: CreatedSandbox | undefined) => void = () => {};
    const created = new Promise<CreatedSandbox | undefined>((resolve) => {
      onCreated = resolve;
    });
    const ready = this.#ensure(request, onCreated);
    const none = () => onCreated(undefined);
    ready.then(none, none);
    return { created, ready };
  }

  async #ensure(
    { record, pod, sandbox, onBegin }: SandboxStart,
    onCreated: (sandbox: CreatedSandbox) => void,
  ): Promise<ObservedContainer | undefined> {
    if (!('type' in sandbox)) return sandbox;
    const { runtime, security, events, clock, limit, sandboxImage } = this.#options;
    try {
      const runtimeHandler = await security.runtimeHandler(pod);
      const config = computeSandboxConfig(pod, sandboxImage, sandbox.attempt, runtimeHandler);
      const { signal } = record.interrupt;
      const made = await limit(async () => {
        // By the time it gets a place, the sandbox may no longer be wanted.
        if (signal.aborted) return undefined;
        onBegin();
        return runtime.runSandbox(config, onCreated);
      });
      if (made === undefined) return undefined;
      record.containers.set(made.id, justMade(clock.now(), made));
      if (made.state !== 'running') throw new RuntimeError('failed', made.error || 'the sandbox ended at once');
      record.blocked.delete('');
      return made;
    } catch (error) {
      rethrowIfAway(record, error);
      const message = `Failed to create pod sandbox: ${wordsOf(error)}`;
      block(record, '', { reason: 'ContainerCreating', message }, { nowMs: clock.now(), ...retry });
      events(pod, 'Warning', 'FailedCreatePodSandBox', message);
      return undefined;
    }
  }
}
