import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { writeRecord } from '../installation/installation-record.ts';
import { listBerthProcesses } from './berth-processes.ts';
import { stopAll, stopSupervised } from './processes.ts';

// Programs that do nothing under the names of Berth's, in a data directory of the test's own.
let dataDir: string;
let program: string;
let started: ChildProcess[];

beforeEach(() => {
  dataDir = realpathSync(mkdtempSync(join(tmpdir(), 'berth-processes-')));
  program = join(dataDir, 'berth');
  writeFileSync(program, 'setInterval(() => {}, 60_000);');
  writeRecord(dataDir, { listen: '127.0.0.1:7443', nodeName: 'own' });
  started = [];
});
afterEach(async () => {
  for (const child of started) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  rmSync(dataDir, { recursive: true, force: true });
});

const agents = () => listBerthProcesses(dataDir).map(({ nodeName }) => nodeName);

async function startAgents(...names: string[]): Promise<void> {
  for (const name of names)
    started.push(spawn(process.execPath, [program, 'agent', '--data-dir', dataDir, '--node-name', name], { stdio: 'ignore' }));
  await vi.waitFor(() => expect(agents().sort()).toEqual(names.sort()), { timeout: 30_000 });
}

it('what "up" started is stopped without the agents of other nodes that share the data directory', async () => {
  await startAgents('own', 'other');
  expect(await stopSupervised(dataDir, ['agent'])).toEqual(['agent']);
  expect(agents()).toEqual(['other']);
});

it('"down" stops those too: nothing of the data directory is in use any more', async () => {
  await startAgents('own', 'other');
  expect(await stopAll(dataDir)).toEqual(['agent']);
  expect(agents()).toEqual([]);
});
