import { WebhookFailure } from './review.ts';

/** Calls of one webhook that wait while others are under way. */
const MOST_WAITING = 1_000;

/** Bounds the calls of one webhook at a time: a slow one fills its own places, and no others. */
export class Places {
  readonly #most: number;
  readonly #mostWaiting: number;
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  constructor(most: number, mostWaiting = MOST_WAITING) {
    this.#most = most;
    this.#mostWaiting = mostWaiting;
  }

  get taken(): number {
    return this.#taken;
  }

  /**
   * Does the work in a place of its own. Throws WebhookFailure when too many wait, and the signal's reason when that
   * aborts before there was room.
   */
  async take<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (this.#taken < this.#most) this.#taken++;
    else await this.#wait(signal);
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  #wait(signal: AbortSignal): Promise<void> {
    if (this.#waiting.length >= this.#mostWaiting)
      throw new WebhookFailure(`${this.#taken} calls to it are under way and ${this.#waiting.length} wait: it is too slow`);
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        signal.removeEventListener('abort', gone);
        resolve();
      };
      const gone = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        reject(signal.reason as Error);
      };
      this.#waiting.push(enter);
      signal.addEventListener('abort', gone, { once: true });
      if (signal.aborted) gone();
    });
  }

  /** The place goes on to the call that has waited longest. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#taken--;
  }
}
