/** Runs at most so many of the given functions at once, the others in the order they came. */
export type Limit = <T>(run: () => Promise<T>) => Promise<T>;

export function createLimit(atOnce: number): Limit {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (run) => {
    if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await run();
    } finally {
      const next = waiting.shift();
      // The place is handed on, so that nobody who comes now gets in between.
      if (next !== undefined) next();
      else running--;
    }
  };
}
