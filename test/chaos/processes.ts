import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Client, connect } from '../../client/index.ts';

const launcher = fileURLToPath(new URL('../../bin/berth', import.meta.url));

/** A part of Berth, from dist/, in a process without a supervisor. */
export interface BerthProcess {
  readonly pid: number;
  readonly ended: Promise<unknown>;
  /** kill -9; returns when it has ended. */
  kill(): Promise<void>;
  /** Makes it stand still, and go on. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void;
}

function start(args: readonly string[], within: readonly string[] = []): { process: ChildProcess; berth: BerthProcess } {
  const [program = '', ...words] = [...within, process.execPath, launcher, ...args];
  const child = spawn(program, words, { stdio: 'pipe' });
  const ended = once(child, 'close');
  const berth: BerthProcess = {
    pid: child.pid!,
    ended,
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
    signal: (name) => void child.kill(name),
  };
  return { process: child, berth };
}

/** Returns when it listens. */
export async function startServer(dataDir: string, address: string, ...flags: string[]): Promise<BerthProcess> {
  const { listening, ...berth } = beginServer(dataDir, address, ...flags);
  await listening;
  return berth;
}

/** Returns at once; `listening` is rejected when the server ends before it listens. */
export function beginServer(
  dataDir: string,
  address: string,
  ...flags: string[]
): BerthProcess & { readonly listening: Promise<void> } {
  const { process: child, berth } = start([
    ...['server', '--data-dir', dataDir, '--listen', address, '--kubernetes-listen', 'off'],
    ...flags,
  ]);
  let output = '';
  const listening = new Promise<void>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output = `${output}${chunk}`.slice(-4_000);
      if (output.includes('is listening')) resolve();
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.once('close', (code) => reject(new Error(`the server ended with ${code}: ${output}`)));
  });
  return { ...berth, listening };
}

export interface AgentStart {
  /** A program that becomes the agent, e.g. one that enters a namespace. */
  readonly within?: readonly string[];
  readonly flags?: readonly string[];
}

/** Returns at once: an agent may be killed before it has done anything. */
export function startAgent(
  dataDir: string,
  address: string,
  nodeName: string,
  { within = [], flags = [] }: AgentStart = {},
): BerthProcess {
  const where = ['--data-dir', dataDir, '--server', address, '--node-name', nodeName];
  const { process: child, berth } = start(['agent', ...where, '--log-level', 'error', ...flags], within);
  child.stdout?.resume();
  child.stderr?.on('data', (chunk: Buffer) => process.stderr.write(chunk));
  return berth;
}

export async function connectAdmin(dataDir: string, address: string): Promise<Client> {
  const read = (file: string): Promise<string> => readFile(join(dataDir, 'pki', file), 'utf8');
  return connect({ address, ca: await read('ca.crt'), cert: await read('admin.crt'), key: await read('admin.key') });
}
