import { closeSync, fstatSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

export interface LogFileOptions {
  /** A file is put aside once it would exceed this many bytes. */
  readonly maxBytes: number;
  /** How many files are kept, the current one included. */
  readonly keep: number;
}

/**
 * A log that cannot fill the disk: FILE, FILE.1 (the one before) ... Lines are written at once, so that a killed process leaves
 * them behind. A disk that is full loses lines, never the process.
 */
export function openLogFile(
  file: string,
  options: LogFileOptions = { maxBytes: 10_000_000, keep: 3 },
): { write(line: string): void } {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  let descriptor = openSync(file, 'a', 0o600);
  let size = fstatSync(descriptor).size;

  const rotate = (): void => {
    closeSync(descriptor);
    rmSync(`${file}.${options.keep - 1}`, { force: true });
    for (let at = options.keep - 2; at >= 1; at--) moveIfThere(`${file}.${at}`, `${file}.${at + 1}`);
    moveIfThere(file, `${file}.1`);
    descriptor = openSync(file, 'a', 0o600);
    size = 0;
  };

  return {
    write(line) {
      const bytes = Buffer.from(line);
      try {
        if (size > 0 && size + bytes.length > options.maxBytes) rotate();
        size += writeSync(descriptor, bytes);
      } catch {
        // Nowhere to say so: the log is where it would be said.
      }
    },
  };
}

function moveIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
