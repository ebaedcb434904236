import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'vitest';
import { testProgram } from '../fixtures/test-program.ts';

/** An API server in a process of its own, that a test can kill; it may not serve yet. */
export async function spawnServer(dataDir: string, address: string): Promise<ChildProcess> {
  const args = ['--expose-gc', await testProgram('test/integration/apiserver-process.ts'), dataDir, address];
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
}

/** The same; resolves when it serves. */
export async function startServerProcess(dataDir: string, address: string): Promise<ChildProcess> {
  const child = await spawnServer(dataDir, address);
  await Promise.race([
    once(child.stdout!, 'data'),
    once(child, 'exit').then(([code]) => expect.unreachable(`the server ended with code ${code}`)),
  ]);
  return child;
}

/** How many bytes of objects and buffers a server holds after it has collected its garbage. */
export async function heldBytes(server: ChildProcess): Promise<number> {
  const line = once(server.stdout!, 'data');
  server.kill('SIGUSR2');
  return Number(String((await line)[0]));
}

/** Ends it without a chance to tidy up; ended ones stay so. */
export async function killProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}
