import { setTimeout as delay } from 'node:timers/promises';
import type { TroubleLine } from './read-troubles.ts';

/** Between looks at the pods. */
const lookMs = 2_000;
/** Looking takes at most one part in so many of the time: a workload may have thousands of pods. */
const restParts = 4;

export interface TroubleWatchOptions {
  read(): Promise<readonly TroubleLine[]>;
  /** Told once of each trouble that two looks have found. */
  tell(line: string): void;
  readonly everyMs?: number;
}

/** Looks again and again for what is wrong with what is waited for. */
export class TroubleWatch {
  readonly #options: TroubleWatchOptions;
  readonly #told = new Set<string>();
  #seen = new Set<string>();

  constructor(options: TroubleWatchOptions) {
    this.#options = options;
  }

  /** Until the signal aborts. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    for (let tookMs = 0; !signal.aborted; ) {
      const restMs = Math.max(this.#options.everyMs ?? lookMs, restParts * tookMs);
      await delay(restMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      const begun = performance.now();
      this.#tell(await this.#options.read(), signal);
      tookMs = performance.now() - begun;
    }
  }

  #tell(found: readonly TroubleLine[], signal: AbortSignal): void {
    if (signal.aborted) return;
    for (const { key, line } of found) {
      if (!this.#seen.has(key) || this.#told.has(key)) continue;
      this.#told.add(key);
      this.#options.tell(line);
    }
    this.#seen = new Set(found.map(({ key }) => key));
  }
}
