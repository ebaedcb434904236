import type { Clock } from '../../client/clock.ts';
import { createLru } from '../../client/lru.ts';
import { delayAfter } from '../pod/back-off.ts';
import type { ImageService } from '../runtime/runtime.ts';
import { RuntimeError } from '../runtime/runtime-error.ts';

/**
 * What became of a wish for an image. `notBefore` is when the next pull may be tried; `unchecked` says why an image that is here could not
 * be compared with the registry's.
 */
export type ImageResult =
  | { readonly present: true; readonly pulledMs: number | undefined; readonly unchecked?: string }
  | { readonly present: false; readonly reason: string; readonly message: string; readonly notBefore: number };

/** Sees to it that images are there. One pull at a time for each reference, whoever asks; failures back off for all of them. */
export interface ImageSource {
  /** `onPulling` is told when a pull starts. Throws RuntimeError only when the engine is away. */
  ensure(reference: string, policy: string, onPulling: () => void): Promise<ImageResult>;
  /** The engine said that it has not got it after all. */
  forget(reference: string): void;
}

/** Kubernetes' figures: 10 s doubling to 5 min. */
const backOff = { initialMs: 10_000, maxMs: 300_000 } as const;
/** References that were seen present, so that starting a container costs no look-up. */
const remembered = 1_000;

interface Failure {
  readonly count: number;
  readonly notBefore: number;
  readonly message: string;
  /** Nobody refused the image: its registry could not be asked. */
  readonly unreachable: boolean;
}

export function createImageSource(images: ImageService, clock: Clock, signal: AbortSignal): ImageSource {
  const present = createLru<boolean>(remembered);
  const failures = createLru<Failure>(remembered);
  const pulls = new Map<string, Promise<ImageResult>>();

  async function isPresent(reference: string): Promise<boolean> {
    if (present.get(reference) === true) return true;
    if ((await images.find(reference)) === undefined) return false;
    present.set(reference, true);
    return true;
  }

  /** Or the result for a name that the engine cannot even look for. */
  async function isHere(reference: string): Promise<ImageResult | boolean> {
    try {
      return await isPresent(reference);
    } catch (error) {
      if (error instanceof RuntimeError && error.code === 'image-invalid-name') return invalidName(error.message);
      throw error;
    }
  }

  function invalidName(message: string): ImageResult {
    return { present: false, reason: 'InvalidImageName', message, notBefore: clock.now() + backOff.maxMs };
  }

  async function pull(reference: string): Promise<ImageResult> {
    const startedAt = clock.now();
    try {
      await images.pull(reference, signal);
      present.set(reference, true);
      failures.set(reference, { count: 0, notBefore: 0, message: '', unreachable: false });
      return { present: true, pulledMs: clock.now() - startedAt };
    } catch (error) {
      if (!(error instanceof RuntimeError)) throw error;
      if (error.code === 'image-invalid-name') return invalidName(error.message);
      const count = (failures.get(reference)?.count ?? 0) + 1;
      const unreachable = error.code === 'unavailable';
      const failure = { count, notBefore: clock.now() + delayAfter(count, backOff), message: error.message, unreachable };
      failures.set(reference, failure);
      if (unreachable && (await isPresent(reference))) return { present: true, pulledMs: undefined, unchecked: error.message };
      return { present: false, reason: 'ErrImagePull', message: error.message, notBefore: failure.notBefore };
    }
  }

  return {
    async ensure(reference, policy, onPulling) {
      const here = policy === 'Always' ? false : await isHere(reference);
      if (here !== false) return here === true ? { present: true, pulledMs: undefined } : here;
      if (policy === 'Never') {
        const message = `Container image "${reference}" is not present with pull policy of Never`;
        return { present: false, reason: 'ErrImageNeverPull', message, notBefore: clock.now() + backOff.initialMs };
      }
      const failed = failures.get(reference);
      if (failed !== undefined && failed.notBefore > clock.now()) {
        // A registry that is away, or that never was (an image made on this machine), does not keep a pod from starting.
        if (failed.unreachable && (await isPresent(reference))) {
          return { present: true, pulledMs: undefined, unchecked: failed.message };
        }
        return {
          present: false,
          reason: 'ImagePullBackOff',
          message: backOffMessage(reference, failed.message),
          notBefore: failed.notBefore,
        };
      }
      onPulling();
      const running = pulls.get(reference) ?? pull(reference).finally(() => pulls.delete(reference));
      pulls.set(reference, running);
      return running;
    },
    forget(reference) {
      present.set(reference, false);
    },
  };
}

export function backOffMessage(reference: string, cause: string): string {
  return `Back-off pulling image "${reference}": ErrImagePull: ${cause}`;
}
