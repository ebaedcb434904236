import { type Clock, systemClock } from '../../client/clock.ts';

/** Wakes one loop. A wake-up that comes while the loop is busy ends its next wait at once, so none is lost. */
export class WakeUp {
  #pending = false;
  #end: (() => void) | undefined;

  wake(): void {
    if (this.#end === undefined) this.#pending = true;
    else this.#end();
  }

  /** Resolves when woken, when aborted, or after `ms` (undefined: never by itself). Leaves no listener behind. */
  async wait(signal: AbortSignal, ms?: number, clock: Clock = systemClock): Promise<void> {
    if (!signal.aborted && !this.#pending) {
      let cancel: (() => void) | undefined;
      let end = (): void => {};
      await new Promise<void>((resolve) => {
        end = resolve;
        this.#end = resolve;
        if (ms !== undefined) cancel = clock.after(ms, resolve);
        signal.addEventListener('abort', end);
      });
      cancel?.();
      signal.removeEventListener('abort', end);
      this.#end = undefined;
    }
    this.#pending = false;
  }
}
