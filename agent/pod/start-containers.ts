import { isUnavailable } from '../../api/errors/index.ts';
import type { Container, Pod } from '../../api/generated/types.ts';
import type { Clock } from '../../client/clock.ts';
import { ContainerConfigError } from '../config/config-error.ts';
import { computeContainerConfig, computeSandboxConfig } from '../config/container-config.ts';
import type { PodObjects } from '../config/env.ts';
import { backOffMessage, type ImageSource } from '../config/images.ts';
import type { ObjectSource } from '../config/objects.ts';
import type { Limit } from '../limit.ts';
import type { ContainerRuntime, ObservedContainer } from '../runtime/runtime.ts';
import { RuntimeError } from '../runtime/runtime-error.ts';
import type { ReadyVolume, Volumes } from '../volumes/volumes.ts';
import type { Action } from './compute-actions.ts';
import type { PodEvents } from './pod-events.ts';
import { block, type PodRecord } from './pod-record.ts';
import { specHash } from './spec-hash.ts';

export interface StartOptions {
  readonly runtime: ContainerRuntime;
  readonly images: ImageSource;
  readonly objects: ObjectSource;
  readonly volumes: Pick<Volumes, 'ensureVolumes' | 'podDir'>;
  readonly events: PodEvents;
  readonly clock: Clock;
  readonly limit: Limit;
  readonly sandboxImage: string;
  readonly hostIP: string;
  readonly allocatable: { readonly cpuMilli: number; readonly memoryBytes: number };
}

type RunSandbox = Extract<Action, { type: 'run-sandbox' }>;
type RunContainer = Extract<Action, { type: 'run-container' }>;

interface Prepared {
  readonly objects: PodObjects;
  readonly volumes: ReadonlyMap<string, ReadyVolume>;
}

/** Objects of pods that start together are fetched once. */
const objectsMaxAgeMs = 5_000;
const retry = { initialMs: 1_000, maxMs: 15_000 } as const;
const startRetry = { initialMs: 10_000, maxMs: 300_000 } as const;
/** How long a pull that failed is told as such, before the status says that it waits. */
const errImagePullMs = 2_000;
/** An image may appear without a pull: it is looked for this often, however long the pulls back off. */
const imageLookMs = 30_000;

/** Starts what a plan wants to run, everything that does not depend on each other at once. */
export interface Starter {
  /**
   * Runs the sandbox (or takes the one that is ready) and the containers; what runs is added to the record. What fails is written
   * down there with its back-off. Throws only when the engine or the server is away.
   */
  start(request: StartRequest): Promise<void>;
}

export interface StartRequest {
  readonly record: PodRecord;
  readonly pod: Pod;
  readonly sandbox: RunSandbox | ObservedContainer;
  readonly starts: readonly RunContainer[];
  /** Told when work on the pod begins: before that it only waits for its turn. May be told more than once. */
  readonly onBegin: () => void;
}

export function createStarter(options: StartOptions): Starter {
  const { runtime, images, events, clock, limit } = options;

  async function ensureSandbox({ record, pod, sandbox, onBegin }: StartRequest): Promise<ObservedContainer | undefined> {
    if (!('type' in sandbox)) return sandbox;
    try {
      const made = await limit(() => {
        onBegin();
        return runtime.runSandbox(computeSandboxConfig(pod, options.sandboxImage, sandbox.attempt));
      });
      record.containers.set(made.id, made);
      if (made.state !== 'running') throw new RuntimeError('failed', made.error || 'the sandbox ended at once');
      record.blocked.delete('');
      return made;
    } catch (error) {
      rethrowIfAway(record, error);
      block(record, '', { reason: 'ContainerCreating', message: undefined }, { nowMs: clock.now(), ...retry });
      events(pod, 'Warning', 'FailedCreatePodSandBox', `Failed to create pod sandbox: ${wordsOf(error)}`);
      return undefined;
    }
  }

  async function prepare(record: PodRecord, pod: Pod, starts: readonly RunContainer[]): Promise<Prepared | undefined> {
    const objects = await options.objects.forPod(pod, objectsMaxAgeMs);
    const volumes = pod.spec?.volumes ?? [];
    if (volumes.length === 0) return { objects, volumes: new Map() };
    const ready = await options.volumes.ensureVolumes({ podDir: options.volumes.podDir(record.uid), volumes, ...objects });
    if (ready.problems.length === 0) return { objects, volumes: ready.volumes };
    for (const problem of ready.problems) {
      events(pod, 'Warning', 'FailedMount', `MountVolume.SetUp failed for ${problem.message}`);
    }
    for (const { name } of starts) {
      block(record, name, { reason: 'ContainerCreating', message: undefined }, { nowMs: clock.now(), ...retry });
    }
    return undefined;
  }

  async function ensureImage({ record, pod, onBegin }: StartRequest, container: Container): Promise<boolean> {
    const { name = '', image = '', imagePullPolicy = 'IfNotPresent' } = container;
    const pulling = () => {
      onBegin();
      events(pod, 'Normal', 'Pulling', `Pulling image "${image}"`, name);
    };
    const result = await images.ensure(image, imagePullPolicy, pulling);
    if (result.present) {
      const message =
        result.pulledMs === undefined
          ? `Container image "${image}" already present on machine`
          : `Successfully pulled image "${image}" in ${(result.pulledMs / 1000).toFixed(3)}s`;
      const unchecked =
        result.unchecked === undefined ? '' : `; its registry could not be asked for a newer one: ${result.unchecked}`;
      events(pod, 'Normal', 'Pulled', message + unchecked, name);
      return true;
    }
    const { reason, message } = result;
    const notBefore = Math.min(result.notBefore, clock.now() + imageLookMs);
    const isNew = reason === 'ErrImagePull';
    record.blocked.set(name, {
      reason,
      message,
      notBefore,
      failures: (record.blocked.get(name)?.failures ?? 0) + 1,
      ...(isNew
        ? {
            later: { reason: 'ImagePullBackOff', message: backOffMessage(image, message) },
            laterFrom: clock.now() + errImagePullMs,
          }
        : {}),
    });
    if (reason === 'ImagePullBackOff') events(pod, 'Normal', 'BackOff', message, name);
    else {
      events(pod, 'Warning', 'Failed', isNew ? `Failed to pull image "${image}": ${message}` : message, name);
      events(pod, 'Warning', 'Failed', `Error: ${reason}`, name);
      if (isNew) events(pod, 'Normal', 'BackOff', backOffMessage(image, message), name);
    }
    return false;
  }

  async function runContainer(
    record: PodRecord,
    pod: Pod,
    start: RunContainer,
    sandbox: ObservedContainer,
    prepared: Prepared,
  ): Promise<void> {
    const container = pod.spec?.containers?.find((candidate) => candidate.name === start.name);
    if (container === undefined) return;
    const { name, attempt, restartsInRow } = start;
    try {
      const facts = {
        podIP: pod.spec?.hostNetwork === true ? options.hostIP : sandbox.ip,
        hostIP: options.hostIP,
        allocatable: options.allocatable,
      };
      const input = {
        pod,
        container,
        sandboxId: sandbox.id,
        facts,
        attempt,
        restartsInRow,
        specHash: specHash(container),
        ...prepared,
      };
      const config = computeContainerConfig(input);
      const made = await limit(() => runtime.runContainer(config), 'first');
      record.containers.set(made.id, made);
      record.blocked.delete(name);
      events(pod, 'Normal', 'Created', `Created container: ${name}`, name);
      if (made.error === '') events(pod, 'Normal', 'Started', `Started container ${name}`, name);
      else events(pod, 'Warning', 'Failed', `Error: failed to start container "${name}": ${made.error}`, name);
    } catch (error) {
      notRun(record, pod, container, error);
    }
  }

  function notRun(record: PodRecord, pod: Pod, { name = '', image = '' }: Container, error: unknown): void {
    const nowMs = clock.now();
    const message = wordsOf(error);
    if (error instanceof ContainerConfigError) {
      block(record, name, { reason: 'CreateContainerConfigError', message }, { nowMs, ...retry });
    } else {
      rethrowIfAway(record, error);
      record.stale = true;
      if (error instanceof RuntimeError && error.code === 'image-not-found') images.forget(image);
      block(record, name, { reason: 'CreateContainerError', message }, { nowMs, ...startRetry });
    }
    events(pod, 'Warning', 'Failed', `Error: ${message}`, name);
  }

  return {
    async start(request) {
      const { record, pod, starts } = request;
      const byName = new Map((pod.spec?.containers ?? []).map((container) => [container.name ?? '', container]));
      const stopped = aborted(record.interrupt.signal);
      const ready = ensureSandbox(request);
      const prepared = prepare(record, pod, starts);
      const one = async (start: RunContainer) => {
        const container = byName.get(start.name);
        const present = container === undefined ? false : await Promise.race([ensureImage(request, container), stopped.promise]);
        const [box, parts] = await Promise.all([ready, prepared]);
        if (present && box !== undefined && parts !== undefined && record.kill === undefined)
          await runContainer(record, pod, start, box, parts);
      };
      // All are waited for, so that nothing is still being made when the next step looks.
      const results = await Promise.allSettled([ready, prepared, ...starts.map(one)]);
      stopped.unlink();
      const failed = results.find((result) => result.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
    },
  };
}

/** Resolves to false when the signal aborts: a pull goes on for others, but this pod does not wait for it. */
function aborted(signal: AbortSignal): { promise: Promise<false>; unlink(): void } {
  let unlink = () => {};
  const promise = new Promise<false>((resolve) => {
    const stop = () => resolve(false);
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    unlink = () => signal.removeEventListener('abort', stop);
  });
  return { promise, unlink: () => unlink() };
}

/** An engine that does not answer says nothing about the pod: look again, do not count it against the pod. */
function rethrowIfAway(record: PodRecord, error: unknown): void {
  const away = error instanceof RuntimeError ? error.code === 'unavailable' || error.code === 'timeout' : isUnavailable(error);
  const foreign = !(error instanceof RuntimeError);
  if (!away && !foreign) return;
  record.stale = true;
  throw error;
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
