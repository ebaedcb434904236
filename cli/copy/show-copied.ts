import type { Progress } from '../terminal/progress.ts';

/** Progress is shown only for copies that take longer. */
const patienceMs = 1_000;
/** How often the line is refreshed. */
const refreshMs = 200;
const mebi = 1024 * 1024;

/**
 * Passes the pieces on, and shows how much was copied once that takes long. The line is cleared at the end,
 * and when the copy fails.
 */
export async function* showCopied<T extends Uint8Array>(
  pieces: AsyncIterable<T>,
  progress: Progress,
  now: () => number = () => performance.now(),
): AsyncGenerator<T> {
  let bytes = 0;
  let nextAt = now() + patienceMs;
  try {
    for await (const piece of pieces) {
      yield piece;
      bytes += piece.length;
      const at = now();
      if (at < nextAt) continue;
      nextAt = at + refreshMs;
      progress.show(`copied ${Math.floor(bytes / mebi)} MiB`);
    }
  } finally {
    progress.clear();
  }
}
