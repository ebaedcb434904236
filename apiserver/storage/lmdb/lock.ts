import { spawnSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { StorageError } from '../storage-error.ts';

export interface DirectoryLock {
  release(): Promise<void>;
}

/** The program's exit code for a lock that is held. */
const held = 1;

/**
 * One process per directory. The lock is the kernel's (flock) on the directory itself, which no other user may open:
 * the kernel takes it back the moment the holder dies, however it dies, so there is no stale lock to detect, and a full
 * disk does not matter. Node.js has no flock; the lock belongs to the open directory, which the program of that name
 * shares with this process, and stays when the program ends.
 */
export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  const file = openDirectory(directory);
  const { status, error } = spawnSync('flock', ['-n', '3'], { stdio: ['ignore', 'ignore', 'ignore', file] });
  if (status !== 0) {
    closeSync(file);
    throw refusal(directory, status, error);
  }
  let isHeld = true;
  return {
    async release() {
      // The number may be another file's by now.
      if (isHeld) closeSync(file);
      isHeld = false;
    },
  };
}

function openDirectory(directory: string): number {
  try {
    return openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  } catch (error) {
    throw new StorageError('failed', `open the store ${directory}: ${(error as Error).message}`, { cause: error });
  }
}

function refusal(directory: string, status: number | null, cause: Error | undefined): StorageError {
  if (cause !== undefined)
    return new StorageError('failed', `lock the store ${directory}: cannot run flock: ${cause.message}; install util-linux`, {
      cause,
    });
  return status === held
    ? new StorageError('locked', `open the store ${directory}: a running server has it open; stop that one first (berth down)`)
    : new StorageError('failed', `lock the store ${directory}: flock ended with ${status}`);
}
