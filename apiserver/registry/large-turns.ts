/** Objects from this size on are read and changed one at a time. In bytes. */
const LARGE_BYTES = 16 * 1024;

let last: Promise<void> = Promise.resolve();

/**
 * Resolves when a change of an object of this size may begin; undefined when it may at once. Decoding, merging and
 * comparing a large object takes the event loop for tens to hundreds of milliseconds: of many such changes that arrive
 * together each waits for a turn of the loop of its own, so that other calls, and the renewal of Leases, come between
 * them.
 */
export function turnOfLarge(bytes: number | undefined): Promise<void> | undefined {
  if (bytes === undefined || bytes < LARGE_BYTES) return undefined;
  last = last.then(() => new Promise((resolve) => setImmediate(resolve)));
  return last;
}
