import { randomBytes } from 'node:crypto';
import { rmSync, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { isatty } from 'node:tty';
import { badRequest } from '../../api/errors/index.ts';

/**
 * Writes a backup into what a name stands for. A regular file, or none: only its owner may read it, and it has its name
 * once it is whole and on disk, so that an earlier one is never lost to one that failed; a symbolic link goes on
 * pointing to it. Anything else (a pipe, a device) stays what it is and gets the bytes. Throws BAD_REQUEST before the
 * first byte is asked for where none could be written.
 */
export async function writeBackupFile(chunks: AsyncIterable<Buffer>, file: string): Promise<void> {
  const found = await lookAt(file);
  if (found && !found.isFile()) await writeThrough(chunks, file);
  else await replaceFile(chunks, file, found ? await realpath(file) : await findMissing(file));
}

export async function writeAll(chunks: AsyncIterable<Buffer>, write: (bytes: Buffer) => Promise<void>): Promise<void> {
  for await (const chunk of chunks) await write(chunk);
}

export function notForTerminal(): Error {
  return badRequest('a backup is no text for a terminal: name a file, or pass it to a program');
}

/** Errors of the file system say what failed, but not always whose file it was. */
export function nameFile(error: unknown, file: string, onFull = 'the disk is full'): unknown {
  if (!(error instanceof Error) || !('syscall' in error)) return error;
  const code = 'code' in error ? error.code : undefined;
  if (code === 'EPIPE') return badRequest(`write ${file}: its reader went away before the backup was whole`);
  return badRequest(`write ${file}: ${code === 'ENOSPC' ? onFull : error.message}`);
}

/** Undefined: there is nothing of that name yet, in a folder that is there. */
async function lookAt(file: string): Promise<Stats | undefined> {
  if (file === '') throw badRequest('write the backup: its name is empty; name a file');
  const found = await statIfAny(file);
  if (found?.isDirectory()) throw badRequest(`write ${file}: it is a folder; name a file in it`);
  const folder = file.endsWith('/') ? file : dirname(file);
  if (!found && !(await statIfAny(folder))) throw badRequest(`write ${file}: there is no folder ${folder}; make it first`);
  return found;
}

async function statIfAny(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw nameFile(error, path);
  }
}

/** Where a file is made that is not there yet: a symbolic link may say where. */
async function findMissing(file: string): Promise<string> {
  const link = await lstat(file).catch(() => undefined);
  if (!link?.isSymbolicLink()) return resolve(file);
  const target = resolve(await realpath(dirname(file)), await readlink(file));
  await lookAt(target);
  return findMissing(target);
}

async function writeThrough(chunks: AsyncIterable<Buffer>, file: string): Promise<void> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, 'w');
    const to = handle;
    if (isatty(to.fd)) throw notForTerminal();
    await writeAll(chunks, (bytes) => to.writeFile(bytes));
    if ((await to.stat()).isBlockDevice()) await to.sync();
  } catch (error) {
    throw nameFile(error, file);
  } finally {
    await handle?.close();
  }
}

async function replaceFile(chunks: AsyncIterable<Buffer>, file: string, path: string): Promise<void> {
  const unfinished = join(dirname(path), `${basename(path)}.unfinished-${randomBytes(4).toString('hex')}`);
  const keep = removeOnSignals(unfinished);
  try {
    const handle = await open(unfinished, 'wx', 0o600);
    try {
      await writeAll(chunks, (bytes) => handle.writeFile(bytes));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(unfinished, path);
    await syncFolder(dirname(path));
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => undefined);
    throw nameFile(error, file, 'the disk is full; nothing was kept');
  } finally {
    keep();
  }
}

/**
 * A part of a backup is worth nothing, and has Secrets in it. The signal then ends the process as it would have; call
 * what comes back when the file is no longer to be removed.
 */
function removeOnSignals(file: string): () => void {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const stop = (): void => {
    for (const signal of signals) process.off(signal, end);
  };
  const end = (signal: NodeJS.Signals): void => {
    stop();
    rmSync(file, { force: true });
    process.kill(process.pid, signal);
  };
  for (const signal of signals) process.on(signal, end);
  return stop;
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
