import type { Progress } from '../progress.ts';

/** What is quicker needs no progress. */
const patienceMs = 1_000;
/** How often the line is written anew. */
const refreshMs = 200;
const mebi = 1024 * 1024;

/** The pieces as they come, with a line that says how much has come once it takes long; the line is gone when they end, however they do. */
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
