/** A per-key FIFO mutex: calls with one key run in turn; a failure rejects its own call alone. */
export type Turns = <T>(key: string, run: () => T | Promise<T>) => Promise<T>;

export function createTurns(): Turns {
  const last = new Map<string, Promise<unknown>>();
  return async (key, run) => {
    const before = last.get(key);
    const mine = before === undefined ? Promise.resolve().then(run) : before.then(run, run);
    last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (last.get(key) === mine) last.delete(key);
    }
  };
}
