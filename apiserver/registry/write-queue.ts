import { ApiError } from '../../api/errors/index.ts';
import type { WriteContext } from './write-context.ts';

/** Writers that wait for one object; the slowest disk takes some ten of them a second. */
const MOST_WAITING = 1_000;
const RETRY_AFTER_MS = 1_000;

export type Writer = Pick<WriteContext, 'user' | 'caller'>;

interface Waiter {
  enter(): void;
  refuse(error: unknown): void;
}

/** The waiters of one object by user, in the order of their turns. */
type Line = Map<string, Waiter[]>;

/**
 * Lets the writers of one object change it one after the other, so that they do not outrun each other. Users take
 * turns; within one user the order is that of arrival. When too many wait, the last one of the user with the most of
 * them is refused. A write by another server is still found by the compare-and-swap.
 */
export class WriteQueue {
  readonly #lines = new Map<string, Line>();
  readonly #most: number;

  constructor(most = MOST_WAITING) {
    this.#most = most;
  }

  /**
   * Undefined: go ahead. Else resolves with the writer's turn; throws RESOURCE_EXHAUSTED, and the reason of the
   * caller's signal when that aborts. Then `leave`.
   */
  enter(key: string, writer: Writer): Promise<void> | undefined {
    const line = this.#lines.get(key);
    if (line) return this.#wait(line, writer);
    this.#lines.set(key, new Map());
    return undefined;
  }

  leave(key: string): void {
    const line = this.#lines.get(key);
    const [next] = line ?? [];
    if (!line || !next) {
      this.#lines.delete(key);
      return;
    }
    const [user, waiters] = next;
    const waiter = waiters.shift();
    line.delete(user);
    if (waiters.length > 0) line.set(user, waiters);
    waiter?.enter();
  }

  /** For tests: how many objects have a writer. */
  get size(): number {
    return this.#lines.size;
  }

  #wait(line: Line, { user, caller }: Writer): Promise<void> {
    return new Promise((resolve, reject) => {
      const aborted = caller?.signal;
      const gone = (): void => {
        remove(line, user, waiter);
        waiter.refuse(aborted?.reason);
      };
      const waiter: Waiter = {
        enter() {
          aborted?.removeEventListener('abort', gone);
          resolve();
        },
        refuse(error) {
          aborted?.removeEventListener('abort', gone);
          reject(error);
        },
      };
      const own = line.get(user);
      if (own) own.push(waiter);
      else line.set(user, [waiter]);
      aborted?.addEventListener('abort', gone);
      if (aborted?.aborted) gone();
      else this.#bound(line);
    });
  }

  #bound(line: Line): void {
    let [count, longest] = [0, ['', [] as Waiter[]] as const as readonly [string, Waiter[]]];
    for (const each of line) {
      count += each[1].length;
      if (each[1].length > longest[1].length) longest = each;
    }
    if (count <= this.#most) return;
    const [user, waiters] = longest;
    const last = waiters.at(-1);
    if (!last) return;
    remove(line, user, last);
    const why = `more than ${this.#most} writes wait for one object: try again later`;
    last.refuse(new ApiError('RESOURCE_EXHAUSTED', 'TooManyRequests', why, { retryAfterMs: RETRY_AFTER_MS }));
  }
}

function remove(line: Line, user: string, waiter: Waiter): void {
  const waiters = line.get(user);
  const at = waiters?.indexOf(waiter) ?? -1;
  if (!waiters || at < 0) return;
  waiters.splice(at, 1);
  if (waiters.length === 0) line.delete(user);
}
