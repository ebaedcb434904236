/**
 * How many lines of one sort are logged of one user in this time. At these figures it takes one user four days to fill
 * the log with them.
 */
const mostLines = 500;
const windowMs = 600_000;
/** An evicted user starts again at 0. */
const mostWindows = 10_000;

/** Lines that cost a user nothing, by what they are of. Each sort is counted by itself: none hides the others. */
export type LineSort = 'refusals' | 'failures' | 'unchanged' | 'reads';

/** What became of lines: so many of a user's were not written since then, in milliseconds since 1970. */
export interface LeftOut {
  readonly user: string;
  readonly sort: LineSort;
  readonly since: number;
  readonly count: number;
}

interface Window {
  readonly user: string;
  readonly sort: LineSort;
  readonly since: number;
  count: number;
}

/**
 * Recent lines per user. A user can be refused, or read, thousands of times a second, and would push older lines out of
 * a log of bounded size.
 */
export class LineCount {
  readonly #windows = new Map<string, Window>();
  #over: LeftOut[] = [];

  /** What is to become of one more: `last` is written with the word that more are left out. */
  take(user: string, now: number, sort: LineSort = 'refusals'): 'written' | 'last' | 'left out' {
    const key = `${sort} ${user}`;
    let window = this.#windows.get(key);
    if (window && isOver(window, now)) window = this.#end(key, window);
    if (!window) {
      window = { user, sort, since: now, count: 0 };
      this.#windows.set(key, window);
      if (this.#windows.size > mostWindows) this.#end(...(this.#windows.entries().next().value as [string, Window]));
    }
    window.count++;
    if (window.count < mostLines) return 'written';
    return window.count === mostLines ? 'last' : 'left out';
  }

  /** How many lines were left out in the windows that are over by now, each told once. `Infinity` ends them all. */
  takeLeftOut(now: number): readonly LeftOut[] {
    for (const [key, window] of this.#windows) {
      if (!isOver(window, now)) break;
      this.#end(key, window);
    }
    if (this.#over.length === 0) return this.#over;
    const over = this.#over;
    this.#over = [];
    return over;
  }

  #end(key: string, { user, sort, since, count }: Window): undefined {
    this.#windows.delete(key);
    if (count > mostLines) this.#over.push({ user, sort, since, count: count - mostLines });
  }
}

/** The clock may have been set back. */
const isOver = ({ since }: Window, now: number): boolean => Math.abs(now - since) >= windowMs;
