/** The work of an expression or an object exceeded its bound; what was judged counts as refused. */
export class BudgetExceeded extends Error {
  override readonly name = 'BudgetExceeded';
}

/**
 * Steps that an evaluation may still take. A step is about what Kubernetes' cost unit is: one node of an expression
 * evaluated, or some characters or items looked at. Steps are counted, never timed, so that the same object gets the
 * same answer everywhere. Not reentrant: one evaluation runs to its end before the next starts.
 */
export class Budget {
  #left: number;
  readonly #what: string;

  constructor(steps: number, what: string) {
    this.#left = steps;
    this.#what = what;
  }

  get left(): number {
    return this.#left;
  }

  /** Throws BudgetExceeded when the steps are used up; before the work that they stand for is done. */
  take(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new BudgetExceeded(this.#what);
  }
}
