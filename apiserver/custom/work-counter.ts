/** Counts pieces of work that are done one after the other, for those who wait until some of them are over. */
export class WorkCounter {
  #isUnderWay = false;
  #over = 0;
  readonly #waiting = new Set<{ readonly count: number; readonly resolve: () => void }>();

  /** Begins a piece of work; the result ends it. */
  begin(): () => void {
    this.#isUnderWay = true;
    return () => {
      this.#isUnderWay = false;
      this.#over++;
      for (const each of this.#waiting) if (each.count <= this.#over) each.resolve();
    };
  }

  /**
   * Resolves when what is under way and as many that are due are over, or when the signal aborts. Returns whether there
   * was something to wait for.
   */
  async after(due: number, signal: AbortSignal): Promise<boolean> {
    const count = due + (this.#isUnderWay ? 1 : 0);
    if (count === 0 || signal.aborted) return false;
    await new Promise<void>((done) => {
      const waits = { count: this.#over + count, resolve: () => finish() };
      const finish = (): void => {
        this.#waiting.delete(waits);
        signal.removeEventListener('abort', finish);
        done();
      };
      this.#waiting.add(waits);
      signal.addEventListener('abort', finish);
    });
    return true;
  }
}
