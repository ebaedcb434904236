import { statfs } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { StorageError } from '../storage-error.ts';
import { fullDisk } from './reserve.ts';

const eio = 5;
const enospc = 28;
const edquot = 122;
const mapFull = -30_792;
/**
 * Below this a disk counts as full: lmdb reports a write that was cut short by a full disk as an input/output error.
 */
const fullBytes = 1024 * 1024;

/** What a failed commit means. lmdb keeps its own error in a rejected promise on the error. */
export async function translateWriteError(error: unknown, directory: string): Promise<StorageError> {
  const cause = await commitError(error);
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  const full = code === enospc || code === edquot || code === mapFull || (code === eio && (await diskIsFull(directory)));
  const text = cause instanceof Error ? cause.message : String(cause);
  return full
    ? fullDisk(directory, cause)
    : new StorageError('failed', `write to the store ${directory}: ${text}; look at the disk's health`, { cause });
}

async function commitError(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !('commitError' in error)) return error;
  try {
    // lmdb rejects it in the same turn; otherwise the writes behind it must not hang.
    await Promise.race([error.commitError, setTimeout(1000, undefined, { ref: false })]);
    return error;
  } catch (inner) {
    return inner;
  }
}

async function diskIsFull(directory: string): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(directory);
    return bavail * bsize < fullBytes;
  } catch {
    // Without an answer the input/output error is reported as what it says.
    return false;
  }
}
