import type { BackupResponse } from '../../client/index.ts';
import { createProgress, type Progress } from '../terminal/progress.ts';
import { nameFile, notForTerminal, writeAll, writeBackupFile } from './backup-file.ts';

export interface SavedBackup {
  readonly resourceVersion: string;
  readonly objects: number;
  readonly bytes: number;
}

/** How often the line of progress is written anew. */
const refreshMs = 200;
const mebi = 1024 * 1024;

/** Writes a backup into a file, or to standard output ("-"). Throws when any of it could not be written. */
export async function saveBackup(pieces: AsyncIterable<BackupResponse>, file: string): Promise<SavedBackup> {
  const counted = new Counter(createProgress());
  if (file === '-') await writeOut(counted.count(pieces));
  else await writeBackupFile(counted.count(pieces), file);
  return counted.result;
}

async function writeOut(chunks: AsyncIterable<Buffer>): Promise<void> {
  const { stdout } = process;
  if (stdout.isTTY) throw notForTerminal();
  // Other commands end quietly when the reader of their output closes it. Here it has only a part of a backup:
  // the error is reported.
  stdout.removeAllListeners('error').on('error', () => undefined);
  const write = (bytes: Buffer): Promise<void> =>
    new Promise((done, fail) => stdout.write(bytes, (error) => (error ? fail(error) : done())));
  try {
    await writeAll(chunks, write);
  } catch (error) {
    throw nameFile(error, 'standard output');
  }
}

/** Passes the bytes on, and says on a terminal how far it is. */
class Counter {
  readonly #progress: Progress;
  #resourceVersion = '';
  #objects = 0;
  #bytes = 0;
  #total = 0;

  constructor(progress: Progress) {
    this.#progress = progress;
  }

  get result(): SavedBackup {
    return { resourceVersion: this.#resourceVersion, objects: this.#objects, bytes: this.#bytes };
  }

  async *count(pieces: AsyncIterable<BackupResponse>): AsyncGenerator<Buffer> {
    let nextAt = 0;
    try {
      for await (const { data, totalBytes, resourceVersion, objects } of pieces) {
        this.#resourceVersion ||= resourceVersion ?? '';
        this.#total ||= totalBytes ?? 0;
        this.#objects = objects ?? 0;
        this.#bytes += data?.length ?? 0;
        const now = performance.now();
        if (now >= nextAt) {
          nextAt = now + refreshMs;
          this.#show();
        }
        if (data) yield data;
      }
    } finally {
      this.#progress.clear();
    }
  }

  #show(): void {
    // What is around each object is not in the total.
    const total = Math.max(this.#total, this.#bytes);
    this.#progress.show(`backed up ${Math.floor(this.#bytes / mebi)} of about ${Math.ceil(total / mebi)} MiB`);
  }
}
