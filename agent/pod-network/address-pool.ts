import { type AddressRange, addressNumber, addressText, isInRange } from '../../api/meta/address-range.ts';

/** Addresses at both ends of a range that pods do not get: the range's own, the gateway's, and the last one. */
const keptAtStart = 2;
const keptAtEnd = 1;

/**
 * The addresses of one node's pods. Each is held by one sandbox at a time. They are given in turn, so that one that was
 * given back stays unused for as long as the range allows: late packets to it reach no other pod.
 *
 * Nothing is written to disk: a sandbox carries its address in a label from the moment the engine knows of it, so that
 * an agent that starts again learns all addresses in use from the engine (`learn`) before it gives one.
 */
export class AddressPool {
  readonly range: AddressRange;
  readonly #held = new Map<string, string>();
  #next: number;

  /** Throws an Error where the range has no room for a pod. */
  constructor(range: AddressRange) {
    this.range = range;
    if (range.size <= keptAtStart + keptAtEnd)
      throw new Error(`${range.text} has no room for pods: a node's range has 4 addresses at least (/30)`);
    this.#next = range.first + keptAtStart;
  }

  /** How many pods it can address at once. */
  get capacity(): number {
    return this.range.size - keptAtStart - keptAtEnd;
  }

  get held(): number {
    return this.#held.size;
  }

  /** Takes a free address for this holder alone. Throws an Error when there is none. */
  take(holder: string): string {
    for (let tries = 0; tries < this.capacity; tries++) {
      const address = addressText(this.#next);
      this.#next = this.#next === this.#last ? this.range.first + keptAtStart : this.#next + 1;
      if (this.#held.has(address)) continue;
      this.#held.set(address, holder);
      return address;
    }
    throw new Error(
      `all ${this.capacity} addresses of ${this.range.text} are in use: remove pods, or give the node a larger range`,
    );
  }

  /** Gives an address back, where this holder has it. */
  free(address: string, holder: string): void {
    if (this.#held.get(address) === holder) this.#held.delete(address);
  }

  addresses(): string[] {
    return [...this.#held.keys()];
  }

  holders(): readonly string[] {
    return [...this.#held.values()];
  }

  heldBy(holders: ReadonlySet<string>): { readonly address: string; readonly holder: string }[] {
    return [...this.#held].filter(([, holder]) => holders.has(holder)).map(([address, holder]) => ({ address, holder }));
  }

  holderOf(address: string): string | undefined {
    return this.#held.get(address);
  }

  /**
   * Takes over addresses that the engine says are in use. Addresses outside of the range belong to another network; one
   * that is held stays with its holder. The next address to be given is behind the highest, where the previous agent is
   * likely to have stopped.
   */
  learn(used: Iterable<{ readonly address: string; readonly holder: string }>): void {
    for (const { address, holder } of used) {
      if (this.#held.has(address)) continue;
      const at = addressNumber(address);
      if (at === undefined || !isInRange(this.range, at)) continue;
      this.#held.set(address, holder);
      if (at >= this.#next) this.#next = at >= this.#last ? this.range.first + keptAtStart : at + 1;
    }
  }

  get #last(): number {
    return this.range.first + this.range.size - 1 - keptAtEnd;
  }
}
