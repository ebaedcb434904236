import { createHash } from 'node:crypto';
import { createConnection, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';

export interface ProcessLock {
  release(): Promise<void>;
}

/** Longer than this nobody takes to say who they are. */
const answerTimeoutMs = 2_000;

/**
 * One process of this machine for a purpose; `purpose` names it and what it is about ("up /var/lib/berth"). The lock is the name of a unix
 * socket in Linux's abstract namespace: the kernel gives it to one holder and takes it back the moment the holder dies, however it
 * dies, so that there is no stale lock to judge. Whoever comes second hears from the holder who it is. It spans one network namespace.
 */
export async function lockProcess(purpose: string, holder: string): Promise<ProcessLock | { readonly heldBy: string }> {
  const path = `\0berth-${createHash('sha256').update(purpose).digest('hex').slice(0, 24)}`;
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.end(holder);
  });
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ path, exclusive: true }, resolve);
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    return { heldBy: await askHolder(path) };
  }
  server.unref();
  return { release: () => new Promise((resolve) => server.close(() => resolve())) };
}

async function askHolder(path: string): Promise<string> {
  const socket = createConnection({ path });
  socket.setTimeout(answerTimeoutMs, () => socket.destroy());
  try {
    return (await text(socket)) || 'another process';
  } catch {
    // It has just ended, or hangs: that it holds the lock is all there is to say.
    return 'another process';
  }
}

const lockTimeoutMs = 180_000;
const askAgainMs = 200;

/** One command at a time starts or stops an installation; who comes second waits, and is told for whom. */
export async function lockUp(dataDir: string, command: string, onWait: (holder: string) => void): Promise<ProcessLock> {
  const deadline = Date.now() + lockTimeoutMs;
  for (;;) {
    const lock = await lockProcess(`up ${dataDir}`, `${command} (process ${process.pid})`);
    if (!('heldBy' in lock)) return lock;
    if (Date.now() > deadline) throw new Error(`${lock.heldBy} is still at work on ${dataDir}: end it and try again`);
    onWait(lock.heldBy);
    await delay(askAgainMs);
  }
}
