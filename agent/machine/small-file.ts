import { closeSync, openSync, readSync } from 'node:fs';

/** Reads one of the kernel's small files; undefined when it is not there, or not any more. */
export type ReadSmallFile = (path: string) => string | undefined;

/** Nothing that is read here is larger; what is, is cut. */
const mostBytes = 1024 * 1024;

// The kernel makes these files in memory and never blocks, so one buffer serves all. Less than half of what
// fs.readFileSync costs, which asks for the size first and allocates.
let buffer = Buffer.allocUnsafeSlow(16 * 1024);

/**
 * A small file of the kernel's, or undefined when it cannot be read: a container may end at any moment,
 * also between opening and reading.
 */
export function readSmallFile(path: string): string | undefined {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return undefined;
  }
  try {
    return buffer.toString('latin1', 0, readAll(file));
  } catch {
    return undefined;
  } finally {
    closeSync(file);
  }
}

/** Some of these files return at most a page per read: read until an empty result. */
function readAll(file: number): number {
  let length = 0;
  for (;;) {
    const read = readSync(file, buffer, length, buffer.length - length, null);
    length += read;
    if (read === 0 || length >= mostBytes) return length;
    if (length === buffer.length) {
      const larger = Buffer.allocUnsafeSlow(buffer.length * 2);
      buffer.copy(larger, 0, 0, length);
      buffer = larger;
    }
  }
}
