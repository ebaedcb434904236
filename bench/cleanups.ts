/** What a benchmark has made outside of its own process, each with how it ends: processes, folders, networks. */
const held = new Set<() => Promise<unknown>>();

/**
 * Has `cleanup` run when a signal ends the benchmark, whose own `finally` never comes then. The returned function takes
 * that back, for a benchmark that has cleaned up itself.
 */
export function onSignal(cleanup: () => Promise<unknown>): () => void {
  held.add(cleanup);
  return () => void held.delete(cleanup);
}

/** Runs them all, the newest first; one that fails keeps no other from running. Resolves to what went wrong. */
export async function cleanUp(): Promise<unknown[]> {
  const failures: unknown[] = [];
  for (const cleanup of [...held].reverse()) {
    held.delete(cleanup);
    try {
      await cleanup();
    } catch (error) {
      failures.push(error);
    }
  }
  return failures;
}

/** Cleans up at the first SIGINT or SIGTERM, and then exits as shells report a process that the signal ended. */
export function endOnSignals(): void {
  let isEnding = false;
  const numbers = { SIGINT: 2, SIGTERM: 15 } as const;
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      if (isEnding) return;
      isEnding = true;
      process.stderr.write(`${signal}: ending the processes of this benchmark\n`);
      void cleanUp().then((failures) => {
        for (const failure of failures) process.stderr.write(`error: ${String(failure)}\n`);
        process.exit(128 + numbers[signal]);
      });
    });
}
