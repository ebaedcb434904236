import type { Again } from '../controller.ts';

/** Owners of so many objects are looked at once a millisecond; of more, less often, in proportion. */
const perMs = 25;
const mostMs = 200;

/**
 * Keeps large owners from being decided on with each of thousands of changes: an owner of n objects is looked at once
 * in n/25 ms, and at least five times a second. Small ones are looked at at once.
 */
export class Pace {
  readonly #now: () => number;
  readonly #lastAt = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** When the key is to be looked at instead of now; undefined: now. */
  delay(key: string, objects: number): Again | undefined {
    const ms = Math.min(mostMs, Math.floor(objects / perMs));
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
