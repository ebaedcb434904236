import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { badRequest } from '../../api/errors/index.ts';
import type { BackupResponse } from '../../client/index.ts';
import { createProgress, type Progress } from '../progress.ts';

export interface SavedBackup {
  readonly resourceVersion: string;
  readonly objects: number;
  readonly bytes: number;
}

/** How often the line of progress is written anew. */
const refreshMs = 200;
const mebi = 1024 * 1024;

/**
 * Writes a backup into a file that only its owner may read, or to standard output ("-"). The file has its name once the backup is whole and on
 * disk, so that an earlier one of that name is never lost to one that failed.
 */
export async function saveBackup(pieces: AsyncIterable<BackupResponse>, file: string): Promise<SavedBackup> {
  const counted = new Counter(createProgress());
  if (file === '-') {
    if (process.stdout.isTTY) throw badRequest('a backup is no text for a terminal: name a file, or pass it to a program');
    await writeAll(counted.count(pieces), (bytes) => writeOut(bytes));
  } else await writeFile(counted.count(pieces), file);
  return counted.result;
}

async function writeFile(chunks: AsyncIterable<Buffer>, file: string): Promise<void> {
  const unfinished = `${file}.unfinished`;
  try {
    await rm(unfinished, { force: true });
    const handle = await open(unfinished, 'wx', 0o600);
    try {
      await writeAll(chunks, (bytes) => handle.writeFile(bytes));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(unfinished, file);
    await syncFolder(dirname(resolve(file)));
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => undefined);
    throw nameFile(error, file);
  }
}

async function writeAll(chunks: AsyncIterable<Buffer>, write: (bytes: Buffer) => Promise<void>): Promise<void> {
  for await (const chunk of chunks) await write(chunk);
}

function writeOut(bytes: Buffer): Promise<void> {
  return new Promise((done, fail) => process.stdout.write(bytes, (error) => (error ? fail(error) : done())));
}

async function syncFolder(folder: string): Promise<void> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(folder, 'r');
    await handle.sync();
  } finally {
    await handle?.close();
  }
}

/** Errors of the file system say what failed, but not always whose file it was. */
function nameFile(error: unknown, file: string): unknown {
  if (!(error instanceof Error) || !('syscall' in error)) return error;
  const full = 'code' in error && error.code === 'ENOSPC';
  return badRequest(`write ${file}: ${full ? 'the disk is full; nothing was kept' : error.message}`);
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
