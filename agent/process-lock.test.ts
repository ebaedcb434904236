import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync, statSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { lockFile, lockProcess, type ProcessLock } from './process-lock.ts';

let purpose: string;
let serial = 0;

beforeEach(() => {
  purpose = `test ${process.pid} ${++serial}`;
});
afterEach(() => rmSync(lockFile(purpose), { force: true }));

async function mustLock(holder: string): Promise<ProcessLock> {
  const lock = await lockProcess(purpose, holder);
  if ('heldBy' in lock) throw new Error(`held by ${lock.heldBy}`);
  return lock;
}

describe('the lock of a process', () => {
  it('is held once: a second process is told which one has it', async () => {
    const lock = await mustLock('the first');
    expect(await lockProcess(purpose, 'the second')).toEqual({ heldBy: 'the first' });
    await lock.release();
    const again = await mustLock('the third');
    expect(await lockProcess(purpose, 'the fourth')).toEqual({ heldBy: 'the third' });
    await again.release();
  });

  it('leaves nothing behind, and no other user may open it', async () => {
    const lock = await mustLock('the first');
    expect(statSync(lockFile(purpose)).mode & 0o777).toBe(0o600);
    await lock.release();
    expect(existsSync(lockFile(purpose))).toBe(false);
  });

  it('is free as soon as its holder was killed', async () => {
    const held = 'exec 9>>"$1"; flock 9; echo "the shell" >&9; echo held; exec sleep 1000';
    const holder = spawn('sh', ['-c', held, 'sh', lockFile(purpose)], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(holder.stdout, 'data');
    expect(await lockProcess(purpose, 'the second')).toEqual({ heldBy: 'the shell\n' });
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    const lock = await vi.waitFor(() => mustLock('the second'), { timeout: 30_000 });
    expect(await lockProcess(purpose, 'the third')).toEqual({ heldBy: 'the second' });
    await lock.release();
  });
});
