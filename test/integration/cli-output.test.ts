import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, vi } from 'vitest';
import { testProgram } from '../fixtures/test-program.ts';

// Commands in a process of their own, where it matters what their input and output are.
const program = await testProgram('test/integration/cli-process.ts');

it.each([
  ['completion', 1],
  ['diff', 2],
])(
  'says in one sentence that the output of %s finds no room',
  async (command, code) => {
    const full = openSync('/dev/full', 'w');
    try {
      const child = spawn(process.execPath, [program, command, '--help'], { stdio: ['ignore', full, 'pipe'] });
      let said = '';
      child.stderr!.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
      expect(await once(child, 'close')).toEqual([code, null]);
      expect(said).toBe('error: cannot write the output: the disk is full\n');
    } finally {
      closeSync(full);
    }
  },
  60_000,
);

it('purges nothing without a terminal to ask at, unless --yes is given', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-purge-'));
  const record = join(folder, 'installation.json');
  writeFileSync(record, '{}');
  try {
    const purge = promisify(execFile)(process.execPath, [program, 'down', '--purge', '--data-dir', folder]);
    await expect(purge).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('add --yes to remove all data') });
    expect(existsSync(record)).toBe(true);
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 60_000);

it('asks at a terminal before it purges, also when its output goes to another program', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-purge-'));
  const record = join(folder, 'installation.json');
  writeFileSync(record, '{}');
  const words = [process.execPath, program, 'down', '--purge', '--data-dir', folder];
  const line = `${words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')} | cat`;
  const child = spawn('script', ['-qec', line, '/dev/null'], { stdio: 'pipe' });
  try {
    let screen = '';
    child.stdout.on('data', (chunk: Buffer) => (screen += chunk.toString('utf8')));
    await vi.waitFor(() => expect(screen).toContain('Go on? [y/N]'), { timeout: 60_000 });
    child.stdin.write('n\n');
    await once(child, 'close');
    expect(screen).toContain('error: nothing was stopped or removed');
    expect(existsSync(record)).toBe(true);
  } finally {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true });
  }
}, 90_000);
