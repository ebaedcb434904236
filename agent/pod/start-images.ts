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

/** How long a pull that failed is told as such, before the status says that it waits. */
const errImagePullMs = 2_000;
/** An image may appear without a pull, and a missing Secret too: both are looked for this often, however long the pulls back off. */
const imageLookMs = 30_000;

/** The reason of the event with the cause; the kubelet's words. */
const firstReason = {
  ErrImagePull: 'Failed',
  ErrImageNeverPull: 'ErrImageNeverPull',
  InvalidImageName: 'InspectFailed',
} as const;

/**
 * Sees to it that the image of a container is there, and tells the pod's events and its record what becomes of it. False: it is not there yet, or
 * the pod is to go.
 */
export function createImageStarter({ images, credentials, events, clock }: ImageStarterOptions) {
  async function credentialsOf(pod: Pod, repository: string): Promise<readonly PullCredential[]> {
    const found = await credentials.forPod(pod, repository);
    const absent = [...found.missing, ...found.unreadable];
    if (absent.length > 0) {
      const message = `Unable to retrieve some image pull secrets (${absent.join(', ')}); attempting to pull the image may not succeed.`;
      events(pod, 'Warning', 'FailedToRetrieveImagePullSecret', message);
    }
    return found.credentials;
  }

  function tellPresent(pod: Pod, { name = '', image = '' }: ImageUser, result: Extract<ImageResult, { present: true }>): void {
    const { pulled, unchecked } = result;
    const message =
      pulled === undefined
        ? `Container image "${image}" already present on machine and can be accessed by the pod`
        : `Successfully pulled image "${image}" in ${formatElapsed(pulled.pullMs)} (${formatElapsed(pulled.waitedMs)} including waiting). ` +
          `Image size: ${pulled.sizeBytes} bytes.`;
    const addition = unchecked === undefined ? '' : `; its registry could not be asked for a newer one: ${unchecked}`;
    events(pod, 'Normal', 'Pulled', message + addition, name);
  }

  function tellAbsent(pod: Pod, { name = '', image = '' }: ImageUser, result: Extract<ImageResult, { present: false }>): void {
    const { reason, message } = result;
    const tell = (type: 'Normal' | 'Warning', why: string, words: string) => events(pod, type, why, words, name);
    if (reason === 'ImagePullBackOff') {
      tell('Normal', 'BackOff', message);
      return;
    }
    tell('Warning', firstReason[reason], reason === 'ErrImagePull' ? `Failed to pull image "${image}": ${message}` : message);
    tell('Warning', 'Failed', `Error: ${reason}`);
    if (reason === 'ErrImagePull') tell('Normal', 'BackOff', backOffMessage(image, message));
  }

  function blockOn(
    record: PodRecord,
    { name = '', image = '' }: ImageUser,
    result: Extract<ImageResult, { present: false }>,
  ): void {
    const { reason, message } = result;
    const later = { reason: 'ImagePullBackOff', message: backOffMessage(image, message) };
    record.blocked.set(name, {
      reason,
      message,
      notBefore: Math.min(result.notBefore, clock.now() + imageLookMs),
      failures: (record.blocked.get(name)?.failures ?? 0) + 1,
      ...(reason === 'ErrImagePull' ? { later, laterFrom: clock.now() + errImagePullMs } : {}),
    });
  }

  return async (record: PodRecord, pod: Pod, container: ImageUser, onBegin: () => void): Promise<boolean> => {
    const { name = '', image = '', imagePullPolicy = 'IfNotPresent' } = container;
    const { signal } = record.interrupt;
    try {
      const result = await images.ensure({
        reference: image,
        policy: imagePullPolicy,
        signal,
        credentials: (repository) => credentialsOf(pod, repository),
        onPulling() {
          onBegin();
          events(pod, 'Normal', 'Pulling', `Pulling image "${image}"`, name);
        },
        onProgress: (words) => events(pod, 'Normal', 'Pulling', `Pulling image "${image}": ${words}`, name),
      });
      if (signal.aborted) return false;
      if (result.present) {
        tellPresent(pod, container, result);
        return true;
      }
      blockOn(record, container, result);
      tellAbsent(pod, container, result);
      return false;
    } catch (error) {
      if (signal.aborted) return false;
      throw error;
    }
  };
}
