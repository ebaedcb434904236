import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

const script = fileURLToPath(new URL('../../bin/berth-supervise', import.meta.url));
let folder: string;
let supervisor: ChildProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-supervise-'));
});
afterEach(() => {
  supervisor?.kill('SIGTERM');
  rmSync(folder, { recursive: true, force: true });
});

function supervise(shell: string): Promise<number | null> {
  const child = spawn('/bin/sh', [script, folder, 'job', join(folder, 'log'), '/bin/sh', '-c', shell], { stdio: 'ignore' });
  supervisor = child;
  return new Promise((resolve) => child.once('exit', resolve));
}

const pid = (name: string): number => Number(readFileSync(join(folder, name), 'utf8'));

describe('berth-supervise', () => {
  it('starts a command again when it fails, and ends when the command ends well', async () => {
    const ended = supervise(`echo run >> ${folder}/runs; [ $(wc -l < ${folder}/runs) -ge 2 ] && exit 0; exit 3`);
    expect(await ended).toBe(0);
    expect(readFileSync(join(folder, 'runs'), 'utf8')).toBe('run\nrun\n');
    expect(readFileSync(join(folder, 'log'), 'utf8')).toContain('job ended with code 3');
    expect(existsSync(join(folder, 'job.pid'))).toBe(false);
  });

  it('starts a killed command again with another pid', async () => {
    void supervise('exec sleep 60');
    const first = await vi.waitFor(() => pid('job.pid'), { timeout: 5_000 });
    process.kill(first, 'SIGKILL');
    await vi.waitFor(() => expect(pid('job.pid')).not.toBe(first), { timeout: 5_000 });
  });

  it('passes the request to end on and does not start the command again', async () => {
    const ended = supervise(`trap 'kill $!; echo bye > ${folder}/bye; exit 0' TERM; sleep 60 & wait`);
    await vi.waitFor(() => pid('job.pid'), { timeout: 5_000 });
    process.kill(pid('job.supervisor.pid'), 'SIGTERM');
    expect(await ended).toBe(0);
    expect(readFileSync(join(folder, 'bye'), 'utf8')).toBe('bye\n');
  });

  it('does not start a command that was told to stop while it was down', async () => {
    writeFileSync(join(folder, 'job.stop'), '');
    expect(await supervise(`echo run >> ${folder}/runs`)).toBe(0);
    expect(existsSync(join(folder, 'runs'))).toBe(false);
  });
});
