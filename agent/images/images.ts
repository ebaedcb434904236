import type { Clock } from '../../client/clock.ts';
import { createLru } from '../../client/lru.ts';
import { delayAfter } from '../pod/back-off.ts';
import type { ImageService, LocalImage } from '../runtime/runtime.ts';
import { RuntimeError } from '../runtime/runtime-error.ts';
import { type AccessPolicy, isKnown, mustShowCredentials } from './access.ts';
import type { PullCredential } from './credentials.ts';
import type { ImageHolds } from './image-holds.ts';
import type { PullRecords } from './pulled-images.ts';
import type { Pulls } from './pulls.ts';
import { InvalidReferenceError, parseImageName, repositoryOf } from './reference.ts';

/** What a container of a pod wants. */
export interface ImageWish {
  readonly reference: string;
  readonly policy: string;
  /** Aborts when it is no longer wanted. */
  readonly signal: AbortSignal;
  /** What the pod may show to the registry of a repository; asked for only when that matters. */
  credentials(repository: string): Promise<readonly PullCredential[]>;
  /** A pull starts, or one that runs is waited for. */
  onPulling(): void;
  onProgress(words: string): void;
}

/**
 * What became of a wish for an image. `notBefore` is when the next pull may be tried; `unchecked` says why an image that is here could not
 * be compared with the registry's.
 */
export type ImageResult =
  | { readonly present: true; readonly pulled?: PullFigures; readonly unchecked?: string }
  | { readonly present: false; readonly reason: ImageFailure; readonly message: string; readonly notBefore: number };

/** How long the pull itself took, how long it was waited for, and what came. */
export interface PullFigures {
  readonly pullMs: number;
  readonly waitedMs: number;
  readonly sizeBytes: number;
}

export type ImageFailure = 'InvalidImageName' | 'ErrImageNeverPull' | 'ErrImagePull' | 'ImagePullBackOff';

/** Sees to it that images are there. The same wish of many pods is one pull; failures back off for all who wish the same. */
export interface ImageSource {
  /** Keeps the image from being collected until the returned function is called: from before `ensure` until its container is made. */
  hold(reference: string): () => void;
  /** Throws RuntimeError when the engine is away, ApiError when a Secret cannot be read, and the signal's reason when it aborts. */
  ensure(wish: ImageWish): Promise<ImageResult>;
  /** The engine said that it has not got it after all, or images were removed. */
  forget(): void;
}

export interface ImageSourceOptions {
  readonly images: Pick<ImageService, 'find' | 'isRefused'>;
  readonly pulls: Pulls;
  readonly records: PullRecords;
  readonly holds: ImageHolds;
  readonly access: AccessPolicy;
  readonly clock: Clock;
}

/** Kubernetes' figures: 10 s doubling to 5 min. */
const backOff = { initialMs: 10_000, maxMs: 300_000 } as const;
/** References that were seen present, so that starting a container costs no look-up. */
const remembered = 1_000;

interface Failure {
  readonly count: number;
  readonly at: number;
  readonly message: string;
  /** The image is here and was not denied: its registry could not be asked. */
  readonly unreachable: boolean;
}

/** One look at what a pod wants, with the credentials that were asked for. */
interface Look {
  readonly wish: ImageWish;
  readonly repository: string;
  credentials(): Promise<readonly PullCredential[]>;
}

export function createImageSource(options: ImageSourceOptions): ImageSource {
  const { images, pulls, records, holds, clock } = options;
  let present = createLru<LocalImage>(remembered);
  const failures = createLru<Failure>(remembered);
  /** Those who waited for the same pull count its failure once. */
  const causes = new WeakMap<RuntimeError, Promise<Failure>>();

  async function find(reference: string): Promise<LocalImage | undefined> {
    const known = present.get(reference);
    if (known !== undefined) return known;
    const image = await images.find(reference);
    if (image !== undefined) present.set(reference, image);
    return image;
  }

  async function mayUse(image: LocalImage, { repository, credentials }: Look): Promise<boolean> {
    const record = records.get(image.id);
    const access = record?.access[repository];
    if (!mustShowCredentials(options.access, { repository, pulled: record !== undefined, access })) return true;
    return isKnown(access, await credentials());
  }

  async function pull(look: Look): Promise<ImageResult> {
    const { wish, repository } = look;
    const { reference } = wish;
    const credentials = await look.credentials();
    const key = JSON.stringify([reference, ...credentials.map(({ hash }) => hash)]);
    const failed = failures.get(key);
    if (failed !== undefined) {
      const notBefore = failed.at + delayAfter(failed.count, backOff);
      // A clock that was set back must not turn seconds into hours.
      if (failed.at <= clock.now() && clock.now() < notBefore) return backingOff(look, failed, notBefore);
    }
    wish.onPulling();
    const beganAt = clock.now();
    try {
      const { image, credential, pullMs } = await pulls.pull({ reference, credentials }, wish);
      present.set(reference, image);
      failures.set(key, { count: 0, at: 0, message: '', unreachable: false });
      await records.allow(image.id, repository, credential);
      return { present: true, pulled: { pullMs, waitedMs: Math.max(0, clock.now() - beganAt), sizeBytes: image.sizeBytes } };
    } catch (error) {
      if (wish.signal.aborted || !(error instanceof RuntimeError)) throw error;
      return notPulled(look, key, error);
    }
  }

  async function notPulled(look: Look, key: string, error: RuntimeError): Promise<ImageResult> {
    const counted = causes.get(error) ?? count(look, key, error);
    causes.set(error, counted);
    const failure = await counted;
    const unchecked = await unlessChecked(look, failure);
    if (unchecked !== undefined) return unchecked;
    const notBefore = failure.at + delayAfter(failure.count, backOff);
    return { present: false, reason: 'ErrImagePull', message: failure.message, notBefore };
  }

  async function count(look: Look, key: string, error: RuntimeError): Promise<Failure> {
    // Throws when it is the engine that is away.
    const here = await images.find(look.wish.reference);
    const mayBeAway = error.code === 'unavailable' || error.code === 'timeout';
    const unreachable = mayBeAway && here !== undefined && !(await isRefused(look));
    // Every sentence that it stands in names the image already.
    const message = error.message.replaceAll(`pull image ${look.wish.reference}: `, '');
    const failure = { count: (failures.get(key)?.count ?? 0) + 1, at: clock.now(), message, unreachable };
    failures.set(key, failure);
    return failure;
  }

  async function isRefused({ wish, credentials }: Look): Promise<boolean> {
    const shown = await credentials();
    const answers = await Promise.all(
      (shown.length === 0 ? [undefined] : shown).map((credential) => images.isRefused(wish.reference, credential?.auth)),
    );
    return answers.every(Boolean);
  }

  async function backingOff(look: Look, failed: Failure, notBefore: number): Promise<ImageResult> {
    const unchecked = await unlessChecked(look, failed);
    if (unchecked !== undefined) return unchecked;
    const message = backOffMessage(look.wish.reference, failed.message);
    return { present: false, reason: 'ImagePullBackOff', message, notBefore };
  }

  /**
   * A registry that is away, or that never was (an image made on this machine), does not keep a pod from starting that wants the newest and
   * may use what is here.
   */
  async function unlessChecked(look: Look, { unreachable, message }: Failure): Promise<ImageResult | undefined> {
    if (!unreachable || look.wish.policy !== 'Always') return undefined;
    const image = await find(look.wish.reference);
    return image !== undefined && (await mayUse(image, look)) ? { present: true, unchecked: message } : undefined;
  }

  function neverPulled(reference: string, image: LocalImage | undefined): ImageResult {
    const message =
      image === undefined
        ? `Container image "${reference}" is not present with pull policy of Never`
        : `Container image "${reference}" is present with pull policy of Never, but the pod has no credentials that may pull it`;
    return { present: false, reason: 'ErrImageNeverPull', message, notBefore: clock.now() + backOff.initialMs };
  }

  function invalidName(message: string): ImageResult {
    return { present: false, reason: 'InvalidImageName', message, notBefore: clock.now() + backOff.maxMs };
  }

  async function ensureHeld(wish: ImageWish): Promise<ImageResult> {
    const { reference, policy } = wish;
    let asked: Promise<readonly PullCredential[]> | undefined;
    const repository = repositoryOf(parseImageName(reference));
    const look: Look = {
      wish,
      repository,
      credentials: () => {
        asked ??= wish.credentials(repository);
        return asked;
      },
    };
    // One that is just being removed is pulled anew, whatever the engine says of it. No removal begins after that: the reference is held.
    await holds.settled(reference);
    if (policy === 'Always') return pull(look);
    const image = await find(reference);
    if (image !== undefined && (await mayUse(image, look))) return { present: true };
    return policy === 'Never' ? neverPulled(reference, image) : pull(look);
  }

  return {
    hold: holds.hold,
    async ensure(wish) {
      const release = holds.hold(wish.reference);
      try {
        return await ensureHeld(wish);
      } catch (error) {
        if (error instanceof InvalidReferenceError)
          return invalidName(
            `Failed to apply default image tag "${wish.reference}": couldn't parse image name "${wish.reference}": ${error.message}`,
          );
        if (error instanceof RuntimeError && error.code === 'image-invalid-name') return invalidName(error.message);
        throw error;
      } finally {
        release();
      }
    },
    forget() {
      present = createLru(remembered);
    },
  };
}

export function backOffMessage(reference: string, cause: string): string {
  return `Back-off pulling image "${reference}": ErrImagePull: ${cause}`;
}
