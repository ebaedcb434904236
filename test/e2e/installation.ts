import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ApiReader, createApiReader } from './api-reader.ts';

const launcher = fileURLToPath(new URL('../../bin/berth', import.meta.url));

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * A Berth of a test's own: data directory, port, node name and configuration are its own. Uses the built command line.
 */
export interface Installation {
  readonly dataDir: string;
  readonly nodeName: string;
  readonly address: string;
  readonly config: string;
  readonly reader: ApiReader;
  /** Runs `berth ARGS`, with `input` as its standard input; never throws on a bad exit code. */
  berth(args: readonly string[], input?: string): Promise<Outcome>;
  /** The same, and the test fails unless it exits with 0. Returns its standard output. */
  ok(...args: string[]): Promise<string>;
  /** With more flags, if need be. */
  up(...flags: string[]): Promise<string>;
  /** The pid of a process that `up` started. */
  pid(name: 'server' | 'agent'): number;
  purge(): Promise<void>;
}

export async function createInstallation(name: string): Promise<Installation> {
  const folder = mkdtempSync(join(tmpdir(), `berth-e2e-${name}-`));
  const dataDir = join(folder, 'data');
  const config = join(folder, 'config');
  const nodeName = `e2e-${name}-${process.pid}`;
  const address = `127.0.0.1:${await freePort()}`;
  const berth = (args: readonly string[], input = ''): Promise<Outcome> =>
    run(process.execPath, [launcher, ...args], config, input);
  const ok = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await berth(args);
    if (code !== 0) throw new Error(`berth ${args.join(' ')} ended with ${code}: ${stderr || stdout}`);
    return stdout;
  };
  const reader = createApiReader(config);
  // Installations run side by side: only one could have the usual port.
  const own = ['--data-dir', dataDir, '--listen', address, '--kubernetes-listen', '127.0.0.1:0', '--node-name', nodeName];
  return {
    dataDir,
    nodeName,
    address,
    config,
    reader,
    berth,
    ok,
    up: (...flags) => ok('up', '--detach', ...own, ...flags),
    pid(process_) {
      const pid = Number(readFileSync(join(dataDir, 'run', `${process_}.pid`), 'utf8'));
      // A signal to process 0 would end the test, too.
      if (pid === 0) throw new Error(`the pid of the ${process_} is not written yet`);
      return pid;
    },
    async purge() {
      reader.close();
      await berth(['down', '--purge', '--yes', '--data-dir', dataDir]);
      await removeContainers(nodeName);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Runs a program to its end, bounded in time. */
export function run(program: string, args: readonly string[], config = '/nonexistent', input = ''): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env: { ...process.env, BERTH_CONFIG: config }, stdio: 'pipe', timeout: 120_000 });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString('utf8')));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr }));
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}

/** The containers that a node made, as the engine sees them. */
export async function containersOf(nodeName: string): Promise<{ id: string; pod: string; container: string; state: string }[]> {
  const format = '{{.ID}} {{.Label "io.berth.pod.name"}} {{.Label "io.berth.container.name"}} {{.State}}';
  const { stdout } = await run('docker', [
    'ps',
    '-a',
    '--no-trunc',
    '--filter',
    `label=io.berth.node=${nodeName}`,
    '--format',
    format,
  ]);
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const [id = '', pod = '', container = '', state = ''] = line.split(' ');
      return { id, pod, container, state };
    });
}

async function removeContainers(nodeName: string): Promise<void> {
  const ids = (await containersOf(nodeName)).map((each) => each.id);
  await forceRemove(ids);
}

/**
 * Removes containers, also those that run: one after the other,
 * because Docker 20.10 can deadlock when several leave a network at once.
 */
export async function forceRemove(ids: readonly string[], ...global: readonly string[]): Promise<void> {
  for (const id of ids) await run('docker', [...global, 'rm', '-f', '-v', id]);
}

/**
 * In milliseconds: what a test waits for longer than this hangs. It bounds no speed; tests that claim one assert it. A
 * pod took more than 60 s on a slow machine where three clusters started at once.
 */
export const hangsAfterMs = 120_000;

/** Waits until `check` gives something other than undefined; fails with the last thing that `check` threw. */
export async function eventually<T>(what: string, check: () => Promise<T | undefined>, timeoutMs = hangsAfterMs): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  let last: unknown;
  while (Date.now() < deadline) {
    const since = Date.now();
    try {
      const found = await check();
      if (found !== undefined) return found;
      last = undefined;
    } catch (error) {
      last = error;
    }
    // A check that starts processes takes half of the time at most.
    await new Promise((resolve) => setTimeout(resolve, Math.max(100, Date.now() - since)));
  }
  throw new Error(`${what}: not within ${timeoutMs} ms${last ? `: ${last instanceof Error ? last.message : String(last)}` : ''}`);
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
