/**
 * Runs at most so many of the given functions at once. The others wait in the order they came, but behind those that finish what was begun
 * (`first`): of many pods that start together, some run soon, instead of all late.
 */
export type Limit = <T>(run: () => Promise<T>, first?: 'first') => Promise<T>;

export function createLimit(atOnce: number): Limit {
  const waiting: (() => void)[] = [];
  const waitingFirst: (() => void)[] = [];
  let running = 0;
  return async (run, first) => {
    if (running >= atOnce) await new Promise<void>((resolve) => (first ? waitingFirst : waiting).push(resolve));
    else running++;
    try {
      return await run();
    } finally {
      const next = waitingFirst.shift() ?? waiting.shift();
      // The place is handed on, so that nobody who comes now gets in between.
      if (next !== undefined) next();
      else running--;
    }
  };
}
