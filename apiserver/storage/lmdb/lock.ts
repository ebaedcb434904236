import { stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { StorageError } from '../storage-error.ts';

export interface DirectoryLock {
  release(): Promise<void>;
}

/**
 * One process per directory. The lock is the name of a unix socket in Linux's abstract namespace, made from the directory's device and
 * inode: the kernel gives a name to one holder only and takes it back the moment the holder dies, however it dies, so there is no stale
 * lock to judge. It spans one network namespace: a store shared between containers needs a lock of its own.
 */
export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  const { dev, ino } = await stat(directory);
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => reject(refusal(directory, cause)));
    server.listen({ path: `\0berth-store-${dev}-${ino}`, exclusive: true }, resolve);
  });
  server.unref();
  return { release: () => new Promise((resolve) => server.close(() => resolve())) };
}

function refusal(directory: string, cause: NodeJS.ErrnoException): StorageError {
  return cause.code === 'EADDRINUSE'
    ? new StorageError('locked', `open the store ${directory}: a running server has it open; stop that one first`, { cause })
    : new StorageError('failed', `lock the store ${directory}: ${cause.message}`, { cause });
}
