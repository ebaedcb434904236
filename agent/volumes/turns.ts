/** Runs what is asked for the same key one after the other, in the order it was asked; a failure is its own asker's and nobody else's. */
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
