/**
 * Places that clients share. While fewer than `busyAt` are taken, no client is limited; then no client gets more than
 * an equal share of them, and never less than `least`. So one client that runs away meets the bound, the others go on,
 * and a server with only one client serves that one up to `busyAt` calls at once. Holds only clients that have a place.
 */
export class FairShare {
  readonly #busyAt: number;
  readonly #least: number;
  readonly #taken = new Map<string, number>();
  #total = 0;

  constructor({ busyAt, least }: { readonly busyAt: number; readonly least: number }) {
    this.#busyAt = busyAt;
    this.#least = least;
  }

  get total(): number {
    return this.#total;
  }

  get clients(): Iterable<string> {
    return this.#taken.keys();
  }

  /** What each client may have at the moment once the places are scarce. */
  get share(): number {
    return Math.max(this.#least, Math.floor(this.#busyAt / Math.max(1, this.#taken.size)));
  }

  /** Takes a place; false when the client has its share already. The client that got one calls `leave`. */
  enter(client: string, isExempt = false): boolean {
    const taken = this.#taken.get(client) ?? 0;
    if (this.#total >= this.#busyAt && !isExempt && taken >= this.share) return false;
    this.#taken.set(client, taken + 1);
    this.#total++;
    return true;
  }

  leave(client: string): void {
    const taken = this.#taken.get(client);
    if (taken === undefined) return;
    this.#total--;
    if (taken > 1) this.#taken.set(client, taken - 1);
    else this.#taken.delete(client);
  }
}
