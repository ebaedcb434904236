import { closeSync, fstatSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

export interface LogFileOptions {
  /** A file is put aside once it would exceed this many bytes. */
  readonly maxBytes: number;
  /** How many files are kept, the current one included. */
  readonly keep: number;
}

const fullDisk: readonly unknown[] = ['ENOSPC', 'EDQUOT'];

/**
 * A log that cannot fill the disk: FILE, FILE.1 (the one before) ... Lines are written at once, so that a killed
 * process leaves them behind. A disk that is full loses lines, never the process, and the log goes on when there is
 * space again. Throws when the file cannot be opened for another reason.
 */
export function openLogFile(
  file: string,
  options: LogFileOptions = { maxBytes: 10_000_000, keep: 3 },
): { write(line: string): void } {
  /** Undefined while there is none: the number of a closed one is soon another file's. */
  let descriptor: number | undefined;
  let size = 0;

  const open = (): number => {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const opened = openSync(file, 'a', 0o600);
    size = fstatSync(opened).size;
    descriptor = opened;
    return opened;
  };
  const rotate = (): void => {
    if (descriptor !== undefined) closeSync(descriptor);
    descriptor = undefined;
    rmSync(`${file}.${options.keep - 1}`, { force: true });
    for (let at = options.keep - 2; at >= 1; at--) moveIfThere(`${file}.${at}`, `${file}.${at + 1}`);
    moveIfThere(file, `${file}.1`);
  };

  try {
    open();
  } catch (error) {
    if (!fullDisk.includes((error as NodeJS.ErrnoException).code)) throw error;
  }
  return {
    write(line) {
      const bytes = Buffer.from(line);
      try {
        if (descriptor !== undefined && size > 0 && size + bytes.length > options.maxBytes) rotate();
        size += writeSync(descriptor ?? open(), bytes);
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
