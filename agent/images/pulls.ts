import { onAbort } from '../../client/abort.ts';
import type { Clock } from '../../client/clock.ts';
import { formatDuration } from '../pod/back-off.ts';
import type { ImageService, LocalImage, PullProgress } from '../runtime/runtime.ts';
import { RuntimeError } from '../runtime/runtime-error.ts';
import type { PullCredential } from './credentials.ts';
import { createPullPlaces, type PullPlaces } from './pull-places.ts';
import { computePatienceMs, describeProgress, hasMoved, nextReportMs } from './pull-progress.ts';

/** A caller that waits for a pull. */
export interface PullWaiter {
  /** Aborts when it does not want the image any more. */
  readonly signal: AbortSignal;
  /** Told now and then how far a long pull is: at most a dozen times. */
  onProgress(words: string): void;
}

export interface PullRequest {
  readonly reference: string;
  /** Tried one after the other; none means anonymously. */
  readonly credentials: readonly PullCredential[];
}

export interface Pulled {
  readonly image: LocalImage;
  /** The credential that the registry accepted. */
  readonly credential: PullCredential | undefined;
  /** Without the wait for a place. */
  readonly pullMs: number;
}

/**
 * Pulls of images: the same wish of several pods is one pull, so many run at once, and one that does not move is ended.
 * A pull ends with the last who waits for it. One that stands still gives its place to others, so that a registry that
 * stalls keeps only its own images waiting.
 */
export interface Pulls {
  /** Throws RuntimeError (`timeout`: it stood still), or the waiter's reason when that left. */
  pull(request: PullRequest, waiter: PullWaiter): Promise<Pulled>;
}

export interface PullsOptions {
  readonly images: Pick<ImageService, 'pull'>;
  readonly clock: Clock;
  /** How many run at once. */
  readonly atOnce: number;
  /** A pull that does not move for so long is ended. */
  readonly patienceMs: number;
  readonly signal: AbortSignal;
}

interface Shared {
  readonly waiters: Set<PullWaiter>;
  readonly abort: AbortController;
  readonly result: Promise<Pulled>;
}

/**
 * A pull that runs, as it is watched. Time is counted in turns of the watch: a clock that is set must not end pulls.
 */
interface Running {
  progress: PullProgress;
  quietMs: number;
  totalMs: number;
  reports: number;
}

interface Attempt {
  readonly pull: Running;
  readonly waiters: ReadonlySet<PullWaiter>;
  readonly signal: AbortSignal;
  readonly release: () => void;
}

const tickMs = 1_000;
/** How long a pull may stand still and keep its place. */
const keepsPlaceMs = 5_000;
const start: PullProgress = { phase: 'asking', layersDone: 0, layers: 0, bytesDone: 0, bytes: 0 };

export function createPulls(options: PullsOptions): Pulls {
  return new SharedPulls(options);
}

class SharedPulls implements Pulls {
  readonly #options: PullsOptions;
  readonly #places: PullPlaces;
  readonly #shared = new Map<string, Shared>();
  readonly #running = new Set<Running>();

  constructor(options: PullsOptions) {
    this.#options = options;
    this.#places = createPullPlaces(options.atOnce);
  }

  async pull(request: PullRequest, waiter: PullWaiter): Promise<Pulled> {
    waiter.signal.throwIfAborted();
    const key = JSON.stringify([request.reference, ...request.credentials.map(({ hash }) => hash)]);
    const pull = this.#shared.get(key) ?? this.#begin(request, new Set());
    if (!this.#shared.has(key)) {
      this.#shared.set(key, pull);
      const forget = () => void (this.#shared.get(key) === pull && this.#shared.delete(key));
      pull.result.then(forget, forget);
    }
    pull.waiters.add(waiter);
    const left = leaving(waiter.signal);
    try {
      return await Promise.race([pull.result, left.promise]);
    } finally {
      left.unlink();
      pull.waiters.delete(waiter);
      if (pull.waiters.size === 0 && this.#shared.get(key) === pull) {
        // A pull that is being ended takes no more waiters.
        this.#shared.delete(key);
        pull.abort.abort(new Error('no pod waits for it any more'));
      }
    }
  }

  /** Whether a waiting pull proceeds when this one ends: for a place of ours, or for one of the engine's. */
  #keepsOthersWaiting(pull: Running): boolean {
    return this.#places.waiting() > 0 || [...this.#running].some((other) => other !== pull && other.progress.phase === 'queued');
  }

  #begin(request: PullRequest, waiters: Set<PullWaiter>): Shared {
    const abort = new AbortController();
    const unlink = onAbort(this.#options.signal, () => abort.abort(this.#options.signal.reason));
    const result = this.#run(request, waiters, abort.signal).finally(unlink);
    return { waiters, abort, result };
  }

  async #run({ reference, credentials }: PullRequest, waiters: Set<PullWaiter>, signal: AbortSignal): Promise<Pulled> {
    const release = await this.#places.take(signal);
    const pull: Running = { progress: start, quietMs: 0, totalMs: 0, reports: 0 };
    this.#running.add(pull);
    const beganAt = this.#options.clock.now();
    try {
      const failures: RuntimeError[] = [];
      for (const credential of credentials.length === 0 ? [undefined] : credentials) {
        try {
          const image = await this.#attempt(reference, credential, { pull, waiters, signal, release });
          return { image, credential, pullMs: Math.max(0, this.#options.clock.now() - beganAt) };
        } catch (error) {
          signal.throwIfAborted();
          if (!(error instanceof RuntimeError) || error.code === 'timeout') throw error;
          failures.push(error);
        }
      }
      throw summary(failures);
    } finally {
      this.#running.delete(pull);
      release();
    }
  }

  async #attempt(reference: string, credential: PullCredential | undefined, on: Attempt): Promise<LocalImage> {
    const { pull, signal } = on;
    const abort = new AbortController();
    const unlink = onAbort(signal, () => abort.abort(signal.reason));
    const stopWatch = this.#watch(reference, on, (error) => abort.abort(error));
    // An engine that does not cancel a pull must not block its waiters.
    const ended = leaving(abort.signal);
    pull.progress = start;
    pull.quietMs = 0;
    const onProgress = (progress: PullProgress) => {
      if (hasMoved(pull.progress, progress)) pull.quietMs = 0;
      pull.progress = progress;
    };
    try {
      return await Promise.race([
        ended.promise,
        this.#options.images.pull(reference, { signal: abort.signal, auth: credential?.auth, onProgress }),
      ]);
    } finally {
      ended.unlink();
      stopWatch();
      unlink();
    }
  }

  #watch(reference: string, { pull, waiters, release }: Attempt, end: (error: RuntimeError) => void): () => void {
    const tick = () => {
      pull.quietMs += tickMs;
      pull.totalMs += tickMs;
      if (pull.quietMs >= keepsPlaceMs) release();
      if (pull.totalMs >= nextReportMs(pull.reports)) {
        pull.reports++;
        const words = describeProgress(pull.progress, pull.quietMs);
        for (const waiter of waiters) waiter.onProgress(words);
      }
      const patienceMs = computePatienceMs(this.#options.patienceMs, pull.progress.phase, this.#keepsOthersWaiting(pull));
      if (pull.quietMs < patienceMs) {
        cancel = this.#options.clock.after(tickMs, tick);
        return;
      }
      const words = `no progress for ${formatDuration(pull.quietMs)}: ${describeProgress(pull.progress, 0)}`;
      end(new RuntimeError('timeout', `pull image ${reference}: ${words}`));
    };
    let cancel = this.#options.clock.after(tickMs, tick);
    return () => cancel();
  }
}

/** The registry's last error classifies the failure; the message has all of them. */
function summary(failures: readonly RuntimeError[]): RuntimeError {
  const [first] = failures;
  const last = failures.at(-1);
  if (first === undefined || last === undefined) return new RuntimeError('failed', 'no credentials were tried');
  const words = [...new Set(failures.map(({ message }) => message))].join('; ');
  const code = failures.every((failure) => failure.code === last.code) ? last.code : 'image-unauthorized';
  return new RuntimeError(code, words, { cause: first });
}

function leaving(signal: AbortSignal): { promise: Promise<never>; unlink: () => void } {
  let unlink = () => {};
  const promise = new Promise<never>((_, reject) => {
    unlink = onAbort(signal, () => reject(signal.reason));
  });
  // Callers with a longer deadline ignore it.
  promise.catch(() => undefined);
  return { promise, unlink: () => unlink() };
}
