import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, ftruncateSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

export interface ProcessLock {
  release(): Promise<void>;
}

/**
 * One process of this user on this machine for a purpose; `purpose` names it and what it is about ("up
 * /var/lib/berth"). The lock is the kernel's (flock) on a file that no other user may open: the kernel takes it back
 * the moment the holder dies, however it dies, so that there is no stale lock to judge, and no other user can hold it.
 * The file says who holds it, and goes with the lock.
 */
export async function lockProcess(purpose: string, holder: string): Promise<ProcessLock | { readonly heldBy: string }> {
  const path = lockFile(purpose);
  for (;;) {
    const outcome = tryLock(path, holder);
    if (outcome === 'held') return { heldBy: await readHolder(path) };
    if (outcome !== 'removed') return outcome;
  }
}

/** `removed`: the file's last holder has removed it after it was opened here, and others lock another one. */
function tryLock(path: string, holder: string): ProcessLock | 'held' | 'removed' {
  const file = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  let isOurs = false;
  try {
    if (!flock(file, path)) return 'held';
    if (!isAt(path, file)) return 'removed';
    ftruncateSync(file);
    writeSync(file, holder, 0);
    isOurs = true;
  } finally {
    if (!isOurs) closeSync(file);
  }
  return {
    async release() {
      // The number may be another file's by now.
      if (!isOurs) return;
      isOurs = false;
      rmSync(path, { force: true });
      closeSync(file);
    },
  };
}

/**
 * The path of a lock file: in a folder that other users cannot write to and that does not depend on the environment of
 * the process. Root's is in memory, where a full disk does not matter.
 */
export function lockFile(purpose: string): string {
  const folder = process.getuid?.() === 0 ? '/run' : homedir();
  return join(folder, `.berth-${createHash('sha256').update(purpose).digest('hex').slice(0, 24)}.lock`);
}

/** The program's exit code for a lock that is held. */
const held = 1;

/**
 * Node.js has no flock. A lock belongs to the open file, which the program shares with this process:
 * it stays when the program ends.
 */
function flock(file: number, path: string): boolean {
  const { status, error } = spawnSync('flock', ['-n', '3'], { stdio: ['ignore', 'ignore', 'ignore', file] });
  if (error !== undefined) throw new Error(`lock ${path}: cannot run flock: ${error.message}; install util-linux`);
  if (status !== 0 && status !== held) throw new Error(`lock ${path}: flock ended with ${status}`);
  return status === 0;
}

function isAt(path: string, file: number): boolean {
  const there = statSync(path, { throwIfNoEntry: false });
  return there !== undefined && there.ino === fstatSync(file).ino;
}

const holderTries = 20;
const holderPauseMs = 50;

/** The holder writes its identity shortly after it has the lock. */
async function readHolder(path: string): Promise<string> {
  for (let tries = 0; tries < holderTries; tries++) {
    try {
      const holder = readFileSync(path, 'utf8');
      if (holder !== '') return holder;
    } catch (error) {
      // It has just ended.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    await delay(holderPauseMs);
  }
  return 'another process';
}

const lockTimeoutMs = 180_000;
const askAgainMs = 500;

/** Only one command at a time starts or stops an installation; a second one waits and names the holder. */
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
