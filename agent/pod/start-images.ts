import type { Container, Pod } from '../../api/generated/types.ts';
import type { Clock } from '../../client/clock.ts';
import type { CredentialSource, PullCredential } from '../images/credentials.ts';
import { backOffMessage, type ImageResult, type ImageSource } from '../images/images.ts';
import { formatElapsed } from '../images/pull-progress.ts';
import type { PodEvents } from './pod-events.ts';
import type { PodRecord } from './pod-record.ts';

export interface ImageStarterOptions {
  readonly images: Pick<ImageSource, 'ensure'>;
  readonly credentials: CredentialSource;
  readonly events: PodEvents;
  readonly clock: Clock;
}

/** What is needed for the image of a container: its name in the pod and what it says of the image. */
export type ImageUser = Pick<Container, 'name' | 'image' | 'imagePullPolicy'>;

type AbsentImage = Extract<ImageResult, { present: false }>;

/** How long the status shows the error of a failed pull before it shows the back-off. */
const errImagePullMs = 2_000;
/**
 * An image may appear without a pull, and a missing Secret too: both are looked for this often, however long the pulls
 * back off.
 */
const imageLookMs = 30_000;

/** The reason of the event with the cause; the kubelet's words. */
const firstReason = {
  ErrImagePull: 'Failed',
  ErrImageNeverPull: 'ErrImageNeverPull',
  InvalidImageName: 'InspectFailed',
} as const;

/** Ensures the images of a pod's containers; tells its events and its record what becomes of them. */
export class ImageStarter {
  readonly #options: ImageStarterOptions;

  constructor(options: ImageStarterOptions) {
    this.#options = options;
  }

  /**
   * Returns whether the image is there. False: not yet, which is in the record, or the pod is to go. Throws
   * RuntimeError when the engine is away, ApiError when a Secret cannot be read.
   */
  async ensure(record: PodRecord, pod: Pod, container: ImageUser, onBegin: () => void): Promise<boolean> {
    const { name = '', image = '', imagePullPolicy = 'IfNotPresent' } = container;
    const { images, events } = this.#options;
    const { signal } = record.interrupt;
    try {
      const result = await images.ensure({
        reference: image,
        policy: imagePullPolicy,
        signal,
        credentials: (repository) => this.#credentialsOf(pod, repository),
        onPulling() {
          onBegin();
          events(pod, 'Normal', 'Pulling', `Pulling image "${image}"`, name);
        },
        onProgress: (words) => events(pod, 'Normal', 'Pulling', `Pulling image "${image}": ${words}`, name),
      });
      if (signal.aborted) return false;
      if (result.present) {
        this.#tellPresent(pod, container, result);
        return true;
      }
      this.#blockOn(record, container, result);
      this.#tellAbsent(pod, container, result);
      return false;
    } catch (error) {
      if (signal.aborted) return false;
      throw error;
    }
  }

  async #credentialsOf(pod: Pod, repository: string): Promise<readonly PullCredential[]> {
    const { credentials, events } = this.#options;
    const found = await credentials.forPod(pod, repository);
    const absent = [...found.missing, ...found.unreadable];
    if (absent.length > 0) {
      const message = `Unable to retrieve some image pull secrets (${absent.join(', ')}); attempting to pull the image may not succeed.`;
      events(pod, 'Warning', 'FailedToRetrieveImagePullSecret', message);
    }
    return found.credentials;
  }

  #tellPresent(pod: Pod, { name = '', image = '' }: ImageUser, result: Extract<ImageResult, { present: true }>): void {
    const { pulled, unchecked } = result;
    const message =
      pulled === undefined
        ? `Container image "${image}" already present on machine and can be accessed by the pod`
        : `Successfully pulled image "${image}" in ${formatElapsed(pulled.pullMs)} (${formatElapsed(pulled.waitedMs)} including waiting). ` +
          `Image size: ${pulled.sizeBytes} bytes.`;
    const addition = unchecked === undefined ? '' : `; its registry could not be asked for a newer one: ${unchecked}`;
    this.#options.events(pod, 'Normal', 'Pulled', message + addition, name);
  }

  #tellAbsent(pod: Pod, { name = '', image = '' }: ImageUser, { reason, message }: AbsentImage): void {
    const tell = (type: 'Normal' | 'Warning', why: string, words: string) => this.#options.events(pod, type, why, words, name);
    if (reason === 'ImagePullBackOff') {
      tell('Normal', 'BackOff', message);
      return;
    }
    tell('Warning', firstReason[reason], reason === 'ErrImagePull' ? `Failed to pull image "${image}": ${message}` : message);
    tell('Warning', 'Failed', `Error: ${reason}`);
    if (reason === 'ErrImagePull') tell('Normal', 'BackOff', backOffMessage(image, message));
  }

  #blockOn(record: PodRecord, { name = '', image = '' }: ImageUser, { reason, message, notBefore }: AbsentImage): void {
    const nowMs = this.#options.clock.now();
    const later = { reason: 'ImagePullBackOff', message: backOffMessage(image, message) };
    record.blocked.set(name, {
      reason,
      message,
      notBefore: Math.min(notBefore, nowMs + imageLookMs),
      failures: (record.blocked.get(name)?.failures ?? 0) + 1,
      ...(reason === 'ErrImagePull' ? { later, laterFrom: nowMs + errImagePullMs } : {}),
    });
  }
}
