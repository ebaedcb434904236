import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
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
afterEach(async () => {
  await end('SIGTERM');
  rmSync(folder, { recursive: true, force: true });
});

function supervise(shell: string, adopted = ''): Promise<number | null> {
  const env = { ...process.env, BERTH_ADOPT: adopted };
  const args = [script, folder, 'job', join(folder, 'log'), '/bin/sh', '-c', shell];
  const child = spawn('/bin/sh', args, { stdio: 'ignore', env });
  supervisor = child;
  return new Promise((resolve) => child.once('exit', resolve));
}

/** Until it is gone, the keeper holds its lock and writes into the folder. */
async function end(signal: NodeJS.Signals): Promise<void> {
  if (supervisor === undefined || supervisor.exitCode !== null || supervisor.signalCode !== null) return;
  const ended = once(supervisor, 'exit');
  supervisor.kill(signal);
  await ended;
}

function pid(name: string): number {
  const found = Number(readFileSync(join(folder, name), 'utf8'));
  // A signal to process 0 would end this process, too.
  if (found === 0) throw new Error(`${name} is not written yet`);
  return found;
}

describe('berth-supervise', () => {
  it('starts a command again however it ends, until it is disarmed', async () => {
    const ended = supervise(
      `echo run >> ${folder}/runs; [ $(wc -l < ${folder}/runs) -ge 3 ] && touch ${folder}/job.stop; exit $(($(wc -l < ${folder}/runs) - 1))`,
    );
    expect(await ended).toBe(0);
    expect(readFileSync(join(folder, 'runs'), 'utf8')).toBe('run\nrun\nrun\n');
    const log = readFileSync(join(folder, 'log'), 'utf8');
    expect(log).toContain('job ended with code 0; starting it again in 1 s');
    expect(log).toContain('job ended with code 1; starting it again in 2 s');
    expect(existsSync(join(folder, 'job.pid'))).toBe(false);
  });

  it('ends at once when the command has a keeper already', async () => {
    void supervise('exec sleep 60');
    const first = supervisor;
    const child = await vi.waitFor(() => pid('job.pid'), { timeout: 5_000 });
    expect(await supervise(`touch ${folder}/second`)).toBe(0);
    supervisor = first;
    expect(existsSync(join(folder, 'second'))).toBe(false);
    expect(pid('job.pid')).toBe(child);
  });

  it('adopts a process that lost its keeper, and starts it again only when it ends', async () => {
    void supervise(`echo run >> ${folder}/runs; exec sleep 60`);
    const child = await vi.waitFor(() => pid('job.pid'), { timeout: 5_000 });
    await vi.waitFor(() => expect(existsSync(join(folder, 'runs'))).toBe(true), { timeout: 5_000 });
    await end('SIGKILL');
    void supervise(`echo run >> ${folder}/runs; exec sleep 60`, String(child));
    await vi.waitFor(() => expect(pid('job.supervisor.pid')).toBe(supervisor?.pid), { timeout: 5_000 });
    expect(pid('job.pid')).toBe(child);
    expect(readFileSync(join(folder, 'runs'), 'utf8')).toBe('run\n');
    process.kill(child, 'SIGKILL');
    await vi.waitFor(() => expect(pid('job.pid')).not.toBe(child), { timeout: 10_000 });
    await vi.waitFor(() => expect(readFileSync(join(folder, 'runs'), 'utf8')).toBe('run\nrun\n'), { timeout: 5_000 });
  });

  it('ends an adopted process when it is asked to end', async () => {
    const child = spawn('sleep', ['60'], { stdio: 'ignore' });
    const childEnded = new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)));
    const ended = supervise(`touch ${folder}/second`, String(child.pid));
    await vi.waitFor(() => expect(pid('job.pid')).toBe(child.pid), { timeout: 5_000 });
    process.kill(pid('job.supervisor.pid'), 'SIGTERM');
    expect(await childEnded).toBe('SIGTERM');
    expect(await ended).toBe(0);
    expect(existsSync(join(folder, 'second'))).toBe(false);
  });

  it('starts a killed command again with another pid', async () => {
    void supervise('exec sleep 60');
    const first = await vi.waitFor(() => pid('job.pid'), { timeout: 5_000 });
    process.kill(first, 'SIGKILL');
    await vi.waitFor(() => expect(pid('job.pid')).not.toBe(first), { timeout: 5_000 });
  });

  it('passes the request to end on and does not start the command again', async () => {
    const ended = supervise(`trap 'kill $!; echo bye > ${folder}/bye; exit 0' TERM; sleep 60 & touch ${folder}/ready; wait`);
    // Its pid stands before its trap does: a request between the two ends the command without a word.
    await vi.waitFor(() => expect(existsSync(join(folder, 'ready'))).toBe(true), { timeout: 5_000 });
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
