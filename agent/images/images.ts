import { createLru } from '../../api/meta/lru.ts';
import type { Clock } from '../../client/clock.ts';
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
  /** The pod's credentials for a repository; evaluated lazily. */
  credentials(repository: string): Promise<readonly PullCredential[]>;
  /** A pull starts, or one that runs is waited for. */
  onPulling(): void;
  onProgress(words: string): void;
}

/**
 * What became of a wish for an image. `notBefore` is when the next pull may be tried; `unchecked` says why an image
 * that is here could not be compared with the registry's.
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

/** Ensures that images are present. Identical requests of many pods share one pull and its back-off. */
export interface ImageSource {
  /**
   * Keeps the image from being collected until the returned function is called:
   * from before `ensure` until its container is made.
   */
  hold(reference: string): () => void;
  /**
   * Throws RuntimeError when the engine is away, ApiError when a Secret cannot be read,
   * and the signal's reason when it aborts.
   */
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
  /** The image is present and was not denied: its registry was unreachable. */
  readonly unreachable: boolean;
}

/** One check of a pod's image, with its resolved credentials. */
interface Look {
  readonly wish: ImageWish;
  readonly repository: string;
  credentials(): Promise<readonly PullCredential[]>;
}

export function createImageSource(options: ImageSourceOptions): ImageSource {
  return new EngineImages(options);
}

class EngineImages implements ImageSource {
  readonly #options: ImageSourceOptions;
  #present = createLru<LocalImage>(remembered);
  readonly #failures = createLru<Failure>(remembered);
  /** All waiters of one pull count its failure once. */
  readonly #causes = new WeakMap<RuntimeError, Promise<Failure>>();
  readonly hold: (reference: string) => () => void;

  constructor(options: ImageSourceOptions) {
    this.#options = options;
    this.hold = options.holds.hold;
  }

  async ensure(wish: ImageWish): Promise<ImageResult> {
    const release = this.#options.holds.hold(wish.reference);
    try {
      return await this.#ensureHeld(wish);
    } catch (error) {
      if (error instanceof InvalidReferenceError)
        return this.#invalidName(
          `Failed to apply default image tag "${wish.reference}": couldn't parse image name "${wish.reference}": ${error.message}`,
        );
      if (error instanceof RuntimeError && error.code === 'image-invalid-name') return this.#invalidName(error.message);
      throw error;
    } finally {
      release();
    }
  }

  forget(): void {
    this.#present = createLru(remembered);
  }

  async #find(reference: string): Promise<LocalImage | undefined> {
    const known = this.#present.get(reference);
    if (known !== undefined) return known;
    const image = await this.#options.images.find(reference);
    if (image !== undefined) this.#present.set(reference, image);
    return image;
  }

  async #mayUse(image: LocalImage, { repository, credentials }: Look): Promise<boolean> {
    const record = this.#options.records.get(image.id);
    const access = record?.access[repository];
    if (!mustShowCredentials(this.#options.access, { repository, pulled: record !== undefined, access })) return true;
    return isKnown(access, await credentials());
  }

  async #pull(look: Look): Promise<ImageResult> {
    const { clock, pulls, records } = this.#options;
    const { wish, repository } = look;
    const { reference } = wish;
    const credentials = await look.credentials();
    const key = JSON.stringify([reference, ...credentials.map(({ hash }) => hash)]);
    const failed = this.#failures.get(key);
    if (failed !== undefined) {
      const notBefore = failed.at + delayAfter(failed.count, backOff);
      // A clock that was set back must not turn seconds into hours.
      if (failed.at <= clock.now() && clock.now() < notBefore) return this.#backingOff(look, failed, notBefore);
    }
    wish.onPulling();
    const beganAt = clock.now();
    try {
      const { image, credential, pullMs } = await pulls.pull({ reference, credentials }, wish);
      this.#present.set(reference, image);
      this.#failures.set(key, { count: 0, at: 0, message: '', unreachable: false });
      await records.allow(image.id, repository, credential);
      return { present: true, pulled: { pullMs, waitedMs: Math.max(0, clock.now() - beganAt), sizeBytes: image.sizeBytes } };
    } catch (error) {
      if (wish.signal.aborted || !(error instanceof RuntimeError)) throw error;
      return this.#notPulled(look, key, error);
    }
  }

  async #notPulled(look: Look, key: string, error: RuntimeError): Promise<ImageResult> {
    const counted = this.#causes.get(error) ?? this.#count(look, key, error);
    this.#causes.set(error, counted);
    const failure = await counted;
    const unchecked = await this.#unlessChecked(look, failure);
    if (unchecked !== undefined) return unchecked;
    const notBefore = failure.at + delayAfter(failure.count, backOff);
    return { present: false, reason: 'ErrImagePull', message: failure.message, notBefore };
  }

  async #count(look: Look, key: string, error: RuntimeError): Promise<Failure> {
    // Throws when it is the engine that is away.
    const here = await this.#options.images.find(look.wish.reference);
    const mayBeAway = error.code === 'unavailable' || error.code === 'timeout';
    const unreachable = mayBeAway && here !== undefined && !(await this.#isRefused(look));
    // Every sentence that it stands in names the image already.
    const message = error.message.replaceAll(`pull image ${look.wish.reference}: `, '');
    const failure = { count: (this.#failures.get(key)?.count ?? 0) + 1, at: this.#options.clock.now(), message, unreachable };
    this.#failures.set(key, failure);
    return failure;
  }

  async #isRefused({ wish, credentials }: Look): Promise<boolean> {
    const shown = await credentials();
    const answers = await Promise.all(
      (shown.length === 0 ? [undefined] : shown).map((credential) =>
        this.#options.images.isRefused(wish.reference, credential?.auth),
      ),
    );
    return answers.every(Boolean);
  }

  async #backingOff(look: Look, failed: Failure, notBefore: number): Promise<ImageResult> {
    const unchecked = await this.#unlessChecked(look, failed);
    if (unchecked !== undefined) return unchecked;
    const message = backOffMessage(look.wish.reference, failed.message);
    return { present: false, reason: 'ImagePullBackOff', message, notBefore };
  }

  /**
   * A registry that is away, or that never was (an image made on this machine), does not keep a pod from starting that
   * wants the newest and may use what is here.
   */
  async #unlessChecked(look: Look, { unreachable, message }: Failure): Promise<ImageResult | undefined> {
    if (!unreachable || look.wish.policy !== 'Always') return undefined;
    const image = await this.#find(look.wish.reference);
    return image !== undefined && (await this.#mayUse(image, look)) ? { present: true, unchecked: message } : undefined;
  }

  #neverPulled(reference: string, image: LocalImage | undefined): ImageResult {
    const message =
      image === undefined
        ? `Container image "${reference}" is not present with pull policy of Never`
        : `Container image "${reference}" is present with pull policy of Never, but the pod has no credentials that may pull it`;
    return { present: false, reason: 'ErrImageNeverPull', message, notBefore: this.#options.clock.now() + backOff.initialMs };
  }

  #invalidName(message: string): ImageResult {
    return { present: false, reason: 'InvalidImageName', message, notBefore: this.#options.clock.now() + backOff.maxMs };
  }

  async #ensureHeld(wish: ImageWish): Promise<ImageResult> {
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
    // An image that is being removed is pulled again, even if the engine still lists it. No removal begins after that:
    // the reference is held.
    await this.#options.holds.settled(reference);
    if (policy === 'Always') return this.#pull(look);
    const image = await this.#find(reference);
    if (image !== undefined && (await this.#mayUse(image, look))) return { present: true };
    return policy === 'Never' ? this.#neverPulled(reference, image) : this.#pull(look);
  }
}

export function backOffMessage(reference: string, cause: string): string {
  return `Back-off pulling image "${reference}": ErrImagePull: ${cause}`;
}
