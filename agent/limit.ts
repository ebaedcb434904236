/**
 * Runs at most so many of the given functions at once. The others wait in the order they came, but behind those that
 * finish what was begun (`first`): of many pods that start together, some run soon, instead of all late.
 */
export interface Limit {
  <T>(run: () => Promise<T>, first?: 'first'): Promise<T>;
  /** Runs it now or not at all: undefined when all places are taken. For what can be done later as well. */
  ifFree<T>(run: () => Promise<T>): Promise<T> | undefined;
}

export function createLimit(atOnce: number): Limit {
  const waiting: (() => void)[] = [];
  const waitingFirst: (() => void)[] = [];
  let running = 0;

  async function hold<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } finally {
      const next = waitingFirst.shift() ?? waiting.shift();
      // The place is handed on, so that a new caller cannot overtake.
      if (next !== undefined) next();
      else running--;
    }
  }

  const limit = async <T>(run: () => Promise<T>, first?: 'first'): Promise<T> => {
    if (running >= atOnce) await new Promise<void>((resolve) => (first ? waitingFirst : waiting).push(resolve));
    else running++;
    return hold(run);
  };
  return Object.assign(limit, {
    ifFree<T>(run: () => Promise<T>): Promise<T> | undefined {
      if (running >= atOnce) return undefined;
      running++;
      return hold(run);
    },
  });
}
