import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Client, connect } from '../client/index.ts';

/** A Berth of its own for a benchmark: server and agent as processes, as a user runs them, on a data directory that goes with it. */
export interface BenchBerth {
  readonly client: Client;
  readonly nodeName: string;
  readonly server: ChildProcess;
  readonly agent: ChildProcess;
  stop(): Promise<void>;
}

const launcher = fileURLToPath(new URL('../../bin/berth', import.meta.url));

/** Starts one and waits until its node is ready. Throws with the processes' last words when it is not within 60 s. */
export async function startBerth(port = 7553): Promise<BenchBerth> {
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-bench-'));
  const nodeName = `bench-${process.pid}`;
  const address = `127.0.0.1:${port}`;
  const words: string[] = [];
  const start = (...args: string[]): ChildProcess => {
    const child = spawn(
      process.execPath,
      [...process.execArgv, launcher, ...args, '--data-dir', dataDir, '--log-level', 'warn'],
      {
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    child.stderr?.on('data', (chunk: Buffer) => {
      words.push(chunk.toString('utf8'));
      if (words.length > 50) words.shift();
    });
    return child;
  };
  const server = start('server', '--listen', address);
  const children = [server];
  const deadline = Date.now() + 60_000;
  const until = async (what: string, check: () => Promise<boolean>): Promise<void> => {
    while (!(await check().catch(() => false))) {
      if (Date.now() > deadline || children.some((child) => child.exitCode !== null))
        throw new Error(`${what}: ${words.join('')}`);
      await delay(100);
    }
  };

  await until('the API server does not start', async () =>
    ['ca.crt', 'admin.crt', 'admin.key'].every((name) => existsSync(join(dataDir, 'pki', name))),
  );
  const read = (name: string): string => readFileSync(join(dataDir, 'pki', name), 'utf8');
  const client = connect({
    address,
    ca: read('ca.crt'),
    cert: read('admin.crt'),
    key: read('admin.key'),
    userAgent: 'berth-bench',
  });
  await until('the API server does not answer', async () => (await client.namespaces.get({ name: 'default' })) !== undefined);
  const agent = start('agent', '--server', address, '--node-name', nodeName);
  children.push(agent);
  await until('the node does not become ready', async () => {
    const node = await client.nodes.get({ name: nodeName });
    return node.status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') ?? false;
  });

  return {
    client,
    nodeName,
    server,
    agent,
    async stop() {
      client.close();
      for (const child of [agent, server]) {
        if (child.exitCode !== null) continue;
        const ended = new Promise((resolve) => child.once('exit', resolve));
        child.kill('SIGTERM');
        await Promise.race([ended, delay(15_000).then(() => child.kill('SIGKILL'))]);
      }
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
