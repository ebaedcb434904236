/**
 * How many refusals of one user are logged in this time. At these figures it takes one user four days to fill the log
 * with them.
 */
const mostRefusals = 500;
const windowMs = 600_000;
/** An evicted user starts again at 0. */
const mostUsers = 10_000;

interface Window {
  readonly since: number;
  count: number;
}

/**
 * Recent refusals per user. A user without any rights can be refused thousands of times a second, and would push older
 * lines out of a log of bounded size.
 */
export class RefusalCount {
  readonly #users = new Map<string, Window>();

  /** What is to become of one more: `last` is written with the word that more are left out. */
  take(user: string, now: number): 'written' | 'last' | 'left out' {
    let window = this.#users.get(user);
    if (!window || Math.abs(now - window.since) >= windowMs) {
      window = { since: now, count: 0 };
      this.#users.delete(user);
      this.#users.set(user, window);
      if (this.#users.size > mostUsers) this.#users.delete(this.#users.keys().next().value as string);
    }
    window.count++;
    if (window.count < mostRefusals) return 'written';
    return window.count === mostRefusals ? 'last' : 'left out';
  }
}
