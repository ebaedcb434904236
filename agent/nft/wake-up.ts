/** Wakes one loop. A wake-up that comes while the loop is busy ends its next wait at once, so none is lost. */
export class WakeUp {
  #pending = false;
  #end: (() => void) | undefined;

  wake(): void {
    if (this.#end === undefined) this.#pending = true;
    else this.#end();
  }

  /** Resolves when woken, when aborted, or after `ms` (undefined: never by itself). Leaves no listener behind. */
  async wait(signal: AbortSignal, ms?: number): Promise<void> {
    if (!signal.aborted && !this.#pending) {
      let timer: NodeJS.Timeout | undefined;
      let end = (): void => {};
      await new Promise<void>((resolve) => {
        end = resolve;
        this.#end = resolve;
        if (ms !== undefined) timer = setTimeout(resolve, ms);
        signal.addEventListener('abort', end);
      });
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      this.#end = undefined;
    }
    this.#pending = false;
  }
}
