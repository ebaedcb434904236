import type { Progress } from '../../cli/terminal/progress.ts';

/** How often the line of progress is written anew. */
const refreshMs = 200;
const mebi = 1024 * 1024;

/**
 * The bytes as they come, with a line on a terminal that says how much has been read;
 * the line is gone when they end, however they do.
 */
export async function* showRestored(
  bytes: AsyncIterable<Buffer>,
  total: number | undefined,
  progress: Progress,
  now: () => number = () => performance.now(),
): AsyncGenerator<Buffer> {
  let read = 0;
  let nextAt = now();
  const of = total === undefined ? '' : ` of ${Math.ceil(total / mebi)}`;
  try {
    for await (const piece of bytes) {
      read += piece.length;
      if (now() >= nextAt) {
        nextAt = now() + refreshMs;
        progress.show(`restored ${Math.floor(read / mebi)}${of} MiB`);
      }
      yield piece;
    }
  } finally {
    progress.clear();
  }
}
