import { backoffDelayMs } from '../../client/backoff.ts';

export interface ReplacementBackoffOptions {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly maxMs: number;
}

interface Replaced {
  readonly failures: number;
  readonly at: number;
}

const initialMs = 1_000;
/** The place whose pod was replaced longest ago is forgotten first. */
const mostPlaces = 10_000;

/**
 * Slows down the replacement of pods that fail at the same place again and again: the first is replaced at once, the
 * next ones after 1 s, 2 s, 4 s and so on since the one before, and at once again when the place was quiet for twice
 * the longest wait. A restart forgets all: then each is replaced once more at once.
 */
export class ReplacementBackoff {
  readonly #options: ReplacementBackoffOptions;
  readonly #places = new Map<string, Replaced>();

  constructor(options: ReplacementBackoffOptions) {
    this.#options = options;
  }

  /** How long the pod at this place is still to stay; 0: it may be replaced now. */
  waitMs(place: string): number {
    const last = this.#last(place);
    if (!last) return 0;
    const { now, maxMs } = this.#options;
    const waited = now() - last.at;
    const wait = backoffDelayMs({ initialMs, maxMs, jitter: 0 }, last.failures);
    // A clock that was set back would hold the pod up.
    return waited < 0 ? wait : Math.max(0, wait - waited);
  }

  /** The pod at this place was replaced. */
  note(place: string): void {
    const last = this.#last(place);
    this.#places.delete(place);
    this.#places.set(place, { failures: last ? last.failures + 1 : 0, at: this.#options.now() });
    if (this.#places.size > mostPlaces) for (const [oldest] of this.#places) return void this.#places.delete(oldest);
  }

  #last(place: string): Replaced | undefined {
    const { now, maxMs } = this.#options;
    const last = this.#places.get(place);
    return last && now() - last.at <= 2 * maxMs ? last : undefined;
  }
}
