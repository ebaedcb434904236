import { isUnavailable } from '../../api/errors/index.ts';
import type { Container, Pod } from '../../api/generated/types.ts';
import type { Clock } from '../../client/clock.ts';
import { ContainerConfigError } from '../config/config-error.ts';
import { computeContainerConfig, computeSandboxConfig } from '../config/container-config.ts';
import { computeEnv, type PodObjects } from '../config/env.ts';
import type { ObjectSource } from '../config/objects.ts';
import type { SecuritySource } from '../config/security-facts.ts';
import type { CredentialSource } from '../images/credentials.ts';
import type { ImageSource } from '../images/images.ts';
import type { Limit } from '../limit.ts';
import type { ContainerConfig, ContainerRuntime, CreatedSandbox, Mount, ObservedContainer } from '../runtime/runtime.ts';
import { RuntimeError } from '../runtime/runtime-error.ts';
import type { PodVolumes } from '../volumes/pod-volumes.ts';
import type { ReadyVolume } from '../volumes/volumes.ts';
import { block } from './blocked.ts';
import { justMade } from './own-clock.ts';
import type { Action } from './plan.ts';
import { findContainer } from './pod-containers.ts';
import type { PodEvents } from './pod-events.ts';
import type { PodRecord } from './pod-record.ts';
import { specHash } from './spec-hash.ts';
import { createImageStarter } from './start-images.ts';
import type { TerminationMessages } from './termination-messages.ts';

export interface StartOptions {
  readonly runtime: ContainerRuntime;
  readonly images: ImageSource;
  readonly credentials: CredentialSource;
  readonly objects: ObjectSource;
  readonly security: SecuritySource;
  readonly podVolumes: Pick<PodVolumes, 'prepare' | 'prepareSubPaths'>;
  readonly messages: Pick<TerminationMessages, 'prepare'>;
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

/** With what only one of its containers needs. */
interface PreparedContainer extends Prepared {
  readonly lastWords: Mount | undefined;
}

/** One container that is to run. */
interface OneStart {
  readonly record: PodRecord;
  readonly pod: Pod;
  readonly start: RunContainer;
  readonly container: Container;
  readonly target: string | undefined;
}

/** A container that was created for a sandbox before that ran. */
interface Early {
  readonly id: string;
  readonly config: ContainerConfig;
}

interface SandboxToCome {
  /** Once containers can be created in it, where that is before it runs; undefined otherwise. */
  readonly created: Promise<CreatedSandbox | undefined>;
  /** Once it runs; undefined when it does not. */
  readonly ready: Promise<ObservedContainer | undefined>;
}

/** Objects of pods that start together are fetched once. */
const objectsMaxAgeMs = 5_000;
const retry = { initialMs: 1_000, maxMs: 15_000 } as const;
const startRetry = { initialMs: 10_000, maxMs: 300_000 } as const;
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
  /** Called when work on the pod starts; before that it is queued. May be called more than once. */
  readonly onBegin: () => void;
}

export function createStarter(options: StartOptions): Starter {
  const { runtime, images, events, clock, limit } = options;
  const ensureImage = createImageStarter(options);

  async function ensureSandbox(
    { record, pod, sandbox, onBegin }: StartRequest,
    onCreated: (sandbox: CreatedSandbox) => void,
  ): Promise<ObservedContainer | undefined> {
    if (!('type' in sandbox)) return sandbox;
    try {
      const runtimeHandler = await options.security.runtimeHandler(pod);
      const config = computeSandboxConfig(pod, options.sandboxImage, sandbox.attempt, runtimeHandler);
      const { signal } = record.interrupt;
      const made = await limit(async () => {
        // Its turn may come long after there is another wish.
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
      block(record, '', { reason: 'ContainerCreating', message: undefined }, { nowMs: clock.now(), ...retry });
      events(pod, 'Warning', 'FailedCreatePodSandBox', `Failed to create pod sandbox: ${wordsOf(error)}`);
      return undefined;
    }
  }

  async function prepare(record: PodRecord, pod: Pod, starts: readonly RunContainer[]): Promise<Prepared | undefined> {
    const objects = await options.objects.forPod(pod, objectsMaxAgeMs);
    const ready = await options.podVolumes.prepare(pod, objects);
    if (ready.problems.length === 0) return { objects, volumes: ready.volumes };
    for (const problem of ready.problems) {
      events(pod, 'Warning', 'FailedMount', `MountVolume.SetUp failed for ${problem.message}`);
    }
    for (const { name } of starts) {
      block(record, name, { reason: 'ContainerCreating', message: undefined }, { nowMs: clock.now(), ...retry });
    }
    return undefined;
  }

  async function configOf(
    { record, pod, start, container, target }: OneStart,
    sandbox: Pick<ObservedContainer, 'id' | 'ip' | 'runtimeHandler'>,
    { lastWords, ...prepared }: PreparedContainer,
  ): Promise<ContainerConfig> {
    const facts = {
      podIP: pod.spec?.hostNetwork === true ? options.hostIP : sandbox.ip,
      hostIP: options.hostIP,
      allocatable: options.allocatable,
    };
    const env = () => computeEnv(pod, container, prepared.objects, facts);
    const subPaths = await options.podVolumes.prepareSubPaths(pod, container, prepared.volumes, env);
    const input = {
      pod,
      container,
      sandboxId: sandbox.id,
      processesOf: target === undefined ? undefined : runningId(record, target),
      facts,
      security: await options.security.facts(pod, container, sandbox),
      attempt: start.attempt,
      restartsInRow: start.restartsInRow,
      specHash: specHash(container),
      runtimeHandler: sandbox.runtimeHandler,
      subPaths,
      ...prepared,
    };
    return withMount(computeContainerConfig(input), lastWords);
  }

  /** While its sandbox starts, where there is room for that. What goes wrong is said when it is tried again in the sandbox that runs. */
  async function createEarly(one: OneStart, sandbox: CreatedSandbox, parts: PreparedContainer): Promise<Early | undefined> {
    try {
      const config = await configOf(one, sandbox, parts);
      const id = await limit.ifFree(() => runtime.createContainer(config));
      return id === undefined ? undefined : { id, config };
    } catch {
      return undefined;
    }
  }

  async function runContainer(one: OneStart, sandbox: SandboxToCome, parts: PreparedContainer): Promise<void> {
    const { record, pod, container } = one;
    const { name = '' } = container;
    try {
      const { signal } = record.interrupt;
      const isWanted = () => record.kill === undefined && !signal.aborted;
      const created = await sandbox.created;
      let early = created && isWanted() ? await createEarly(one, created, parts) : undefined;
      const box = await sandbox.ready;
      if (early !== undefined && (early.config.sandboxId !== box?.id || !isWanted())) {
        await runtime.remove(early.id);
        early = undefined;
      }
      if (box === undefined || !isWanted()) return;
      const { id, config } = early ?? { id: undefined, config: await configOf(one, box, parts) };
      // Its turn may come long after there is another wish.
      const made = await limit(async () => (isWanted() ? runtime.runContainer(config, id) : undefined), 'first');
      if (made === undefined) {
        if (id !== undefined) await runtime.remove(id);
        return;
      }
      record.containers.set(made.id, justMade(clock.now(), made));
      record.resize.applied.set(made.id, container.resources ?? {});
      record.blocked.delete(name);
      events(pod, 'Normal', 'Created', `Created container: ${name}`, name);
      if (made.error === '') events(pod, 'Normal', 'Started', `Started container ${name}`, name);
      else events(pod, 'Warning', 'Failed', `Error: failed to start container "${name}": ${made.error}`, name);
    } catch (error) {
      notRun(record, pod, container, error);
    } finally {
      options.security.settled(pod, container);
    }
  }

  function notRun(record: PodRecord, pod: Pod, { name = '' }: Container, error: unknown): void {
    const nowMs = clock.now();
    const message = wordsOf(error);
    if (error instanceof ContainerConfigError) {
      block(record, name, { reason: error.reason, message }, { nowMs, ...retry });
    } else {
      rethrowIfAway(record, error);
      record.stale = true;
      if (error instanceof RuntimeError && error.code === 'image-not-found') images.forget();
      block(record, name, { reason: 'CreateContainerError', message }, { nowMs, ...startRetry });
    }
    events(pod, 'Warning', 'Failed', `Error: ${message}`, name);
  }

  return {
    async start(request) {
      const { record, pod, starts } = request;
      const stopped = aborted(record.interrupt.signal);
      const sandbox = sandboxToCome((onCreated) => ensureSandbox(request, onCreated));
      const prepared = prepare(record, pod, starts);
      const one = async (start: RunContainer) => {
        const { container, target } = findContainer(pod, start.name) ?? {};
        if (container === undefined) return;
        // Until the container is there only this call knows that its image is about to be used.
        const message = options.messages.prepare(pod, container, start.attempt);
        const release = images.hold(container.image ?? '');
        try {
          const present = await Promise.race([ensureImage(record, pod, container, request.onBegin), stopped.promise]);
          const [parts, lastWords] = await Promise.all([prepared, message]);
          if (present && parts !== undefined)
            await runContainer({ record, pod, start, container, target }, sandbox, { ...parts, lastWords });
        } finally {
          release();
        }
      };
      // All are waited for, so that nothing is still being made when the next step looks.
      const results = await Promise.allSettled([sandbox.ready, prepared, ...starts.map(one)]);
      stopped.unlink();
      const failed = results.find((result) => result.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
    },
  };
}

/** A volume that the pod mounts at the same place goes before. */
function withMount(config: ContainerConfig, mount: Mount | undefined): ContainerConfig {
  if (mount === undefined || config.mounts.some(({ containerPath }) => containerPath === mount.containerPath)) return config;
  return { ...config, mounts: [...config.mounts, mount] };
}

/** The container that an ephemeral one is to look at. Throws ContainerConfigError while it does not run. */
function runningId(record: PodRecord, name: string): string {
  const running = [...record.containers.values()].find((each) => each.containerName === name && each.state === 'running');
  if (running === undefined) throw new ContainerConfigError(`unable to find target container "${name}": it does not run`);
  return running.id;
}

function sandboxToCome(run: (onCreated: (sandbox: CreatedSandbox) => void) => SandboxToCome['ready']): SandboxToCome {
  let onCreated: (sandbox: CreatedSandbox | undefined) => void = () => {};
  const created = new Promise<CreatedSandbox | undefined>((resolve) => {
    onCreated = resolve;
  });
  const ready = run(onCreated);
  const none = () => onCreated(undefined);
  ready.then(none, none);
  return { created, ready };
}

/** Resolves to false when the signal aborts: whatever its image waits for, the pod does not. */
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
  const foreign = !(error instanceof RuntimeError) && !(error instanceof ContainerConfigError);
  if (!away && !foreign) return;
  record.stale = true;
  throw error;
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
