/** The work of an expression or an object exceeded its bound; what was judged counts as refused. */
export class BudgetExceeded extends Error {
  override readonly name = 'BudgetExceeded';
}

/** How many prepared items, as patterns and time zones, an evaluation remembers as paid. */
export const PREPARED = 50;

/**
 * Steps that an evaluation may still take. A step is about what Kubernetes' cost unit is: one node of an expression
 * evaluated, or some characters or items looked at. Steps are counted, never timed, so that the same object gets the
 * same answer everywhere. Not reentrant: one evaluation runs to its end before the next starts.
 */
export class Budget {
  #left: number;
  readonly #what: string;
  /** The keys of the items that were prepared last, the oldest first. */
  readonly #prepared: Set<string>;

  constructor(steps: number, what: string, prepared = new Set<string>()) {
    this.#left = steps;
    this.#what = what;
    this.#prepared = prepared;
  }

  /** A separate budget for a part of the work, at most what is left. Both share the prepared items. */
  part(steps: number, what: string): Budget {
    return new Budget(Math.min(steps, this.#left), what, this.#prepared);
  }

  get left(): number {
    return this.#left;
  }

  /** Throws BudgetExceeded when the steps are used up; before the work that they stand for is done. */
  take(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new BudgetExceeded(this.#what);
  }

  /**
   * Takes the steps of preparing an item that a cache keeps: a regular expression, a time zone. Takes none while the
   * item is among the last ones that this work prepared. The caches are larger, so such an item is not made again.
   */
  prepare(key: string, steps: number): void {
    if (!this.#prepared.delete(key)) this.take(steps);
    this.#prepared.add(key);
    if (this.#prepared.size > PREPARED) this.#prepared.delete(this.#prepared.values().next().value!);
  }
}
