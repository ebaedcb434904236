import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onSignal } from '../cleanups.ts';

/** Hollow nodes in a process of their own: what they cost is not the caller's. */
export interface HollowProcess {
  readonly child: ChildProcess;
  /** Ends the agents; with `--cleanup` their Node objects are deleted, too. */
  stop(): Promise<void>;
}

/** More than an API server takes for its last calls. */
const stopMs = 30_000;

/**
 * Starts `hack/hollow` as built, with its flags: for benchmarks. Resolves when all nodes are ready; rejects with the
 * last words of a process that ended before.
 */
export async function spawnHollowNodes(count: number, ...flags: string[]): Promise<HollowProcess> {
  const program = fileURLToPath(new URL('./main.js', import.meta.url));
  const child = spawn(process.execPath, [program, String(count), ...flags], { stdio: ['ignore', 'pipe', 'pipe'] });
  let words = '';
  child.stderr.on('data', (chunk: Buffer) => {
    words = (words + chunk.toString('utf8')).slice(-2_000);
  });
  const ended = once(child, 'exit');
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), stopMs);
    await ended;
    clearTimeout(late);
  };
  const takeBack = onSignal(stop);
  void ended.then(takeBack, takeBack);
  const isReady = await Promise.race([once(child.stdout, 'data').then(() => true), ended.then(() => false)]);
  if (!isReady) throw new Error(`hollow nodes did not start: ${words}`);
  return { child, stop };
}
