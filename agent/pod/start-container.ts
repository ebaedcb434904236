import type { Container, Pod } from '../../api/generated/types.ts';
import type { Clock } from '../../client/clock.ts';
import { ContainerConfigError } from '../config/config-error.ts';
import { computeContainerConfig } from '../config/container-config.ts';
import type { Allocatable } from '../config/downward.ts';
import { computeEnv, type PodObjects } from '../config/env.ts';
import type { SecuritySource } from '../config/security-facts.ts';
import type { ImageSource } from '../images/images.ts';
import type { Limit } from '../limit.ts';
import type { ContainerConfig, ContainerRuntime, CreatedSandbox, Mount, ObservedContainer } from '../runtime/runtime.ts';
import { RuntimeError } from '../runtime/runtime-error.ts';
import type { PodVolumes } from '../volumes/pod-volumes.ts';
import type { ReadyVolume } from '../volumes/volumes.ts';
import { wordsOf } from '../words-of.ts';
import { block } from './blocked.ts';
import { justMade } from './own-clock.ts';
import type { Action } from './plan.ts';
import type { PodEvents } from './pod-events.ts';
import { isLeaving } from './pod-lifecycle.ts';
import { advance, type PodRecord } from './pod-record.ts';
import { specHash } from './spec-hash.ts';
import { rethrowIfAway, retry, startRetry } from './start-failures.ts';
import type { SandboxToCome } from './start-sandbox.ts';

export interface ContainerStarterOptions {
  readonly runtime: Pick<ContainerRuntime, 'createContainer' | 'runContainer' | 'remove'>;
  readonly images: Pick<ImageSource, 'forget'>;
  readonly security: Pick<SecuritySource, 'facts' | 'settled'>;
  readonly podVolumes: Pick<PodVolumes, 'prepareSubPaths'>;
  readonly events: PodEvents;
  readonly clock: Clock;
  readonly limit: Limit;
  readonly hostIP: string;
  readonly apiAddress?: ((pod: Pod) => string | undefined) | undefined;
  readonly allocatable: Allocatable;
  /** Absent: Services are not carried on this node. */
  readonly serviceLinks?: ServiceLinkSource | undefined;
}

/**
 * The variables that tell a pod with this address of Services. Called whenever a container is made: what comes later
 * changes none that runs. Throws ContainerConfigError while they are not known.
 */
export type ServiceLinkSource = (pod: Pod, address: string | undefined) => Promise<ReadonlyMap<string, string>>;

/** One container that is to run. */
export interface ContainerStart {
  readonly record: PodRecord;
  readonly pod: Pod;
  readonly start: Extract<Action, { type: 'run-container' }>;
  readonly container: Container;
  /** The container whose processes it sees. */
  readonly target: string | undefined;
}

/** What all containers of a pod need. */
export interface Prepared {
  readonly objects: PodObjects;
  readonly volumes: ReadonlyMap<string, ReadyVolume>;
}

/** With what only one of its containers needs. */
export interface PreparedContainer extends Prepared {
  readonly lastWords: Mount | undefined;
}

/** A container that was created for a sandbox before that ran. */
interface EarlyContainer {
  readonly id: string;
  readonly config: ContainerConfig;
}

/**
 * Runs single containers, whose image is there. What fails is in the pod's record with its back-off, and in its events.
 */
export class ContainerStarter {
  readonly #options: ContainerStarterOptions;

  constructor(options: ContainerStarterOptions) {
    this.#options = options;
  }

  /** What runs is added to the record. Throws only when the engine or the server is away. */
  async run(one: ContainerStart, sandbox: SandboxToCome, parts: PreparedContainer): Promise<void> {
    const { record, pod, container } = one;
    try {
      const made = await this.#make(one, sandbox, parts);
      if (made !== undefined) this.#made(one, made);
    } catch (error) {
      this.#notRun(record, pod, container, error);
    } finally {
      this.#options.security.settled(pod, container);
    }
  }

  /** Undefined when the container is not wanted any more, or has no sandbox. */
  async #make(one: ContainerStart, sandbox: SandboxToCome, parts: PreparedContainer): Promise<ObservedContainer | undefined> {
    const { runtime, limit } = this.#options;
    const { record } = one;
    const { signal } = record.interrupt;
    const isWanted = () => !isLeaving(record.life) && !signal.aborted;
    const created = await sandbox.created;
    let early = created && isWanted() ? await this.#createEarly(one, created, parts) : undefined;
    const box = await sandbox.ready;
    if (early !== undefined && (early.config.sandboxId !== box?.id || !isWanted())) {
      await runtime.remove(early.id);
      early = undefined;
    }
    if (box === undefined || !isWanted()) return undefined;
    const { id, config } = early ?? { id: undefined, config: await this.#configOf(one, box, parts) };
    // By the time it gets a place, the container may no longer be wanted.
    const made = await limit(async () => (isWanted() ? runtime.runContainer(config, id) : undefined), 'first');
    if (made === undefined && id !== undefined) await runtime.remove(id);
    return made;
  }

  /**
   * While its sandbox starts, where there is room for that. What goes wrong is said when it is tried again in the
   * sandbox that runs.
   */
  async #createEarly(
    one: ContainerStart,
    sandbox: CreatedSandbox,
    parts: PreparedContainer,
  ): Promise<EarlyContainer | undefined> {
    const { runtime, limit } = this.#options;
    try {
      const config = await this.#configOf(one, sandbox, parts);
      const id = await limit.ifFree(() => runtime.createContainer(config));
      return id === undefined ? undefined : { id, config };
    } catch {
      return undefined;
    }
  }

  async #configOf(
    { record, pod, start, container, target }: ContainerStart,
    sandbox: Pick<ObservedContainer, 'id' | 'ip' | 'runtimeHandler'>,
    { lastWords, ...prepared }: PreparedContainer,
  ): Promise<ContainerConfig> {
    const { podVolumes, security, hostIP, apiAddress, allocatable } = this.#options;
    const podIP = pod.spec?.hostNetwork === true ? hostIP : sandbox.ip;
    const serviceLinks = await this.#options.serviceLinks?.(pod, podIP);
    const facts = { podIP, hostIP, apiAddress: apiAddress?.(pod), allocatable, ...(serviceLinks && { serviceLinks }) };
    const env = () => computeEnv(pod, container, prepared.objects, facts);
    const subPaths = await podVolumes.prepareSubPaths(pod, container, prepared.volumes, env);
    const input = {
      pod,
      container,
      sandboxId: sandbox.id,
      processesOf: target === undefined ? undefined : runningId(record, target),
      facts,
      security: await security.facts(pod, container, sandbox),
      attempt: start.attempt,
      restartsInRow: start.restartsInRow,
      specHash: specHash(container),
      runtimeHandler: sandbox.runtimeHandler,
      subPaths,
      ...prepared,
    };
    return withMount(computeContainerConfig(input), lastWords);
  }

  #made({ record, pod, container }: ContainerStart, made: ObservedContainer): void {
    const { events, clock } = this.#options;
    const { name = '' } = container;
    record.containers.set(made.id, justMade(clock.now(), made));
    record.resize.applied.set(made.id, container.resources ?? {});
    record.blocked.delete(name);
    events(pod, 'Normal', 'Created', `Created container: ${name}`, name);
    if (made.error === '') events(pod, 'Normal', 'Started', `Started container ${name}`, name);
    else events(pod, 'Warning', 'Failed', `Error: failed to start container "${name}": ${made.error}`, name);
  }

  #notRun(record: PodRecord, pod: Pod, { name = '' }: Container, error: unknown): void {
    const { images, events, clock } = this.#options;
    const nowMs = clock.now();
    const message = wordsOf(error);
    if (error instanceof ContainerConfigError) {
      block(record, name, { reason: error.reason, message }, { nowMs, ...retry });
    } else {
      rethrowIfAway(record, error);
      advance(record, { type: 'hint' });
      if (error instanceof RuntimeError && error.code === 'image-not-found') images.forget();
      block(record, name, { reason: 'CreateContainerError', message }, { nowMs, ...startRetry });
    }
    events(pod, 'Warning', 'Failed', `Error: ${message}`, name);
  }
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
