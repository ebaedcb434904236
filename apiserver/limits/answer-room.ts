import { exhausted } from '../../api/errors/index.ts';
import type { Counter, MetricsRegistry } from '../../api/metrics/index.ts';
import { isControlPlane } from '../auth/identity.ts';
import { apiserverMetrics } from '../metrics.ts';

export interface AnswerLimits {
  /** Bytes of answers on their way, of all clients. */
  readonly bytes: number;
  /** One user's part of them. */
  readonly userBytes: number;
  /** An answer that was not taken after so long is cut off. */
  readonly takeMs: number;
}

/** 64 of the largest objects for one user: more at once is no faster, as all go over one line. */
export const defaultAnswerLimits: AnswerLimits = { bytes: 256 * 1024 * 1024, userBytes: 64 * 1024 * 1024, takeMs: 30_000 };

/** What is smaller is not counted: a thousand of them, which is what a connection may have, are 16 MiB. */
const COUNTED_FROM = 16 * 1024;
const RETRY_AFTER_MS = 1_000;

/**
 * Bounds the answers of unary calls that their clients do not take: they lie in this process, and a call counts as over when its answer was given. Lists have a bound of
 * their own before they are made. A change is never refused after it was made; so that this bounds them too, who has his part may begin nothing.
 */
export class AnswerRoom {
  readonly limits: AnswerLimits;
  readonly #rejected: Counter;
  readonly #byUser = new Map<string, number>();
  #total = 0;

  constructor(limits: AnswerLimits, metrics: MetricsRegistry) {
    this.limits = limits;
    this.#rejected = metrics.counter(apiserverMetrics.rejected).with('answers');
    metrics.read(apiserverMetrics.answerBytes, () => this.#total);
  }

  /** Throws RESOURCE_EXHAUSTED when the user has no room for an answer of so many bytes. The scheduler and the controllers bound themselves. */
  assert(user: string, bytes: number): void {
    if (this.#total === 0 && bytes <= this.limits.userBytes) return;
    const own = (this.#byUser.get(user) ?? 0) + bytes;
    if ((own <= this.limits.userBytes && this.#total + bytes <= this.limits.bytes) || isControlPlane(user)) return;
    this.#rejected.inc();
    throw exhausted(
      `user "${user}" has answers of ${own - bytes} bytes on their way that were not taken yet: read them, then try again`,
      RETRY_AFTER_MS,
    );
  }

  isCounted(bytes: number): boolean {
    return bytes >= COUNTED_FROM;
  }

  /** Counts an answer until the function is called that comes back. */
  hold(user: string, bytes: number): () => void {
    this.#total += bytes;
    this.#byUser.set(user, (this.#byUser.get(user) ?? 0) + bytes);
    return () => {
      this.#total -= bytes;
      const left = (this.#byUser.get(user) ?? 0) - bytes;
      if (left > 0) this.#byUser.set(user, left);
      else this.#byUser.delete(user);
    };
  }
}
