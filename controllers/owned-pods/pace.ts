import type { Again } from '../controller.ts';

/** How long an owner is left alone after a look. */
export interface PaceOptions {
  /** Owners of so many objects are looked at once a millisecond; of more, less often, in proportion. */
  readonly perMs: number;
  readonly leastMs: number;
  readonly mostMs: number;
}

const defaultPace: PaceOptions = { perMs: 25, leastMs: 0, mostMs: 200 };

/**
 * Keeps large owners from being decided on with each of thousands of changes: an owner of n objects is looked at once
 * in n/25 ms, and at least five times a second, unless the options say otherwise. Small ones are looked at at once.
 */
export class Pace {
  readonly #now: () => number;
  readonly #options: PaceOptions;
  readonly #lastAt = new Map<string, number>();

  constructor(now: () => number, options: PaceOptions = defaultPace) {
    this.#now = now;
    this.#options = options;
  }

  /** When the key is to be looked at instead of now; undefined: now. */
  delay(key: string, objects: number): Again | undefined {
    const { perMs, leastMs, mostMs } = this.#options;
    const ms = Math.min(mostMs, Math.max(leastMs, Math.floor(objects / perMs)));
    if (ms === 0) {
      this.#lastAt.delete(key);
      return undefined;
    }
    const now = this.#now();
    const dueAt = (this.#lastAt.get(key) ?? 0) + ms;
    // A clock that was set back would hold the key up.
    if (dueAt > now && dueAt - now <= ms) return { afterMs: dueAt - now };
    this.#lastAt.set(key, now);
    return undefined;
  }

  forget(key: string): void {
    this.#lastAt.delete(key);
  }
}
