import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const MIB = 1024 * 1024;

/** Collects all garbage. */
export function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

/** The memory of this process that is in use. */
export async function usedMiB(): Promise<number> {
  const collect = garbageCollector();
  // Buffers are freed beside the program, and counted as free by the next collection.
  for (let round = 0; round < 3; round++) {
    collect();
    await turn();
  }
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / MIB;
}
