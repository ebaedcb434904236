import type { Pod } from '../../api/generated/types.ts';
import { toMillis } from '../../api/meta/time.ts';
import { onAbort } from '../../client/abort.ts';
import type { Clock } from '../../client/clock.ts';
import type { Allocatable } from '../config/downward.ts';
import type { ObjectSource } from '../config/objects.ts';
import type { SecuritySource } from '../config/security-facts.ts';
import type { CredentialSource } from '../images/credentials.ts';
import type { ImageSource } from '../images/images.ts';
import type { Limit } from '../limit.ts';
import type { ContainerRuntime } from '../runtime/runtime.ts';
import type { PodVolumes } from '../volumes/pod-volumes.ts';
import { block } from './blocked.ts';
import { findContainer } from './pod-containers.ts';
import type { PodEvents } from './pod-events.ts';
import { type ContainerStart, ContainerStarter, type Prepared, type ServiceLinkSource } from './start-container.ts';
import { retry } from './start-failures.ts';
import { ImageStarter } from './start-images.ts';
import { type SandboxStart, SandboxStarter, type SandboxToCome } from './start-sandbox.ts';
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
  /** Where a pod reaches the API server; undefined where nothing leads it there. */
  readonly apiAddress?: ((pod: Pod) => string | undefined) | undefined;
  readonly allocatable: Allocatable;
  readonly serviceLinks?: ServiceLinkSource | undefined;
}

/** Objects of pods that start together are fetched once ... */
const objectsMaxAgeMs = 5_000;

/**
 * ... but a pod never sees what they were before it was created. That time is the server's, in whole seconds: pods
 * younger than one fetch what is there now.
 */
export function acceptableAgeMs(pod: Pod, nowMs: number): number {
  const created = pod.metadata?.creationTimestamp;
  if (created === undefined) return objectsMaxAgeMs;
  return Math.min(objectsMaxAgeMs, Math.max(0, nowMs - toMillis(created) - 1000));
}

/** Starts what a plan wants to run, everything that does not depend on each other at once. */
export interface Starter {
  /**
   * Runs the sandbox (or takes the one that is ready) and the containers; what runs is added to the record. What fails
   * is written down there with its back-off. Throws only when the engine or the server is away.
   */
  start(request: StartRequest): Promise<void>;
}

export interface StartRequest extends SandboxStart {
  readonly starts: readonly ContainerStart['start'][];
}

/** What the containers of one request have in common. */
interface SharedParts {
  readonly sandbox: SandboxToCome;
  readonly prepared: Promise<Prepared | undefined>;
  /** Resolves to false when the pod is to go: whatever an image waits for, the pod does not. */
  readonly stopped: Promise<false>;
}

export function createStarter(options: StartOptions): Starter {
  return new PodStarter(options);
}

class PodStarter implements Starter {
  readonly #options: StartOptions;
  readonly #images: ImageStarter;
  readonly #sandboxes: SandboxStarter;
  readonly #containers: ContainerStarter;

  constructor(options: StartOptions) {
    this.#options = options;
    this.#images = new ImageStarter(options);
    this.#sandboxes = new SandboxStarter(options);
    this.#containers = new ContainerStarter(options);
  }

  async start(request: StartRequest): Promise<void> {
    const { record, starts } = request;
    const { promise: stopped, unlink } = whenAborted(record.interrupt.signal);
    const sandbox = this.#sandboxes.start(request);
    const prepared = this.#prepare(request);
    const shared = { sandbox, prepared, stopped };
    // All are waited for, so that nothing is still being made when the next step looks.
    const containers = starts.map((start) => this.#startOne(request, start, shared));
    const results = await Promise.allSettled([sandbox.ready, prepared, ...containers]);
    unlink();
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async #startOne(
    { record, pod, onBegin }: StartRequest,
    start: ContainerStart['start'],
    { sandbox, prepared, stopped }: SharedParts,
  ): Promise<void> {
    const { messages, images } = this.#options;
    const { container, target } = findContainer(pod, start.name) ?? {};
    if (container === undefined) return;
    // Until the container is there only this call knows that its image is about to be used.
    const message = messages.prepare(pod, container, start.attempt);
    const release = images.hold(container.image ?? '');
    try {
      const present = await Promise.race([this.#images.ensure(record, pod, container, onBegin), stopped]);
      const [parts, lastWords] = await Promise.all([prepared, message]);
      if (present && parts !== undefined)
        await this.#containers.run({ record, pod, start, container, target }, sandbox, { ...parts, lastWords });
    } finally {
      release();
    }
  }

  /** Undefined when volumes are missing, which is in the record then. */
  async #prepare({ record, pod, starts }: StartRequest): Promise<Prepared | undefined> {
    const { events, clock, podVolumes } = this.#options;
    const objects = await this.#options.objects.forPod(pod, acceptableAgeMs(pod, clock.now()));
    const ready = await podVolumes.prepare(pod, objects);
    if (ready.problems.length === 0) return { objects, volumes: ready.volumes };
    const texts = ready.problems.map((problem) => `MountVolume.SetUp failed for ${problem.message}`);
    for (const text of texts) events(pod, 'Warning', 'FailedMount', text);
    for (const { name } of starts)
      block(record, name, { reason: 'ContainerCreating', message: texts.join('; ') }, { nowMs: clock.now(), ...retry });
    return undefined;
  }
}

function whenAborted(signal: AbortSignal): { promise: Promise<false>; unlink(): void } {
  let unlink = () => {};
  const promise = new Promise<false>((resolve) => {
    unlink = onAbort(signal, () => resolve(false));
  });
  return { promise, unlink: () => unlink() };
}
