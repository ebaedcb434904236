import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { removeNetwork } from '../agent/network.ts';
import { createMounts, unmountBelow } from '../agent/volumes/mounts.ts';
import { isConditionTrue } from '../api/meta/conditions.ts';
import { type Client, type ConnectOptions, connect } from '../client/index.ts';
import { allocatorSettings, nodeFlags } from '../host/processes/process-settings.ts';
import { onSignal } from './cleanups.ts';

/** An API server of a benchmark's own, as a process, on a data directory that goes with it. */
export interface BenchServer {
  readonly client: Client;
  /** How its administrator connects. */
  readonly admin: ConnectOptions;
  /** The administrator's bearer token, for clients without certificates. */
  readonly token: string;
  /** The folder of its certificates and keys. */
  readonly pki: string;
  /** The server's data directory. */
  readonly dataDir: string;
  /** The process that runs now. */
  readonly server: ChildProcess;
  /**
   * Asks the server to stop, as a supervisor does, and starts it again on the same data and address;
   * resolves when it answers.
   */
  restart(): Promise<void>;
  /** The two halves of it. */
  stopServer(): Promise<void>;
  startServer(): Promise<void>;
  /** Starts a scheduler as a process of its own, for a server that has none. */
  startScheduler(): ChildProcess;
  stop(): Promise<void>;
}

/** A whole Berth of its own: server and agent as processes, as a user runs them. */
export interface BenchBerth extends BenchServer {
  readonly nodeName: string;
  readonly agent: ChildProcess;
}

export const launcher = fileURLToPath(new URL('../../bin/berth', import.meta.url));

/** Processes of one benchmark, and what they said last. */
class Processes {
  readonly dataDir = mkdtempSync(join(tmpdir(), 'berth-bench-'));
  readonly #children: ChildProcess[] = [];
  readonly #words: string[] = [];
  #stopping: Promise<void> | undefined;
  readonly #cleanedUp = onSignal(() => this.stop());

  start(word: 'server' | 'agent' | 'scheduler', ...args: string[]): ChildProcess {
    // As `berth up` and services start them.
    const [flags, allocator] = word === 'scheduler' ? [[], {}] : [nodeFlags[word], allocatorSettings(word)];
    const child = spawn(
      process.execPath,
      [...process.execArgv, ...flags, launcher, word, ...args, '--data-dir', this.dataDir, '--log-level', 'warn'],
      { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...allocator } },
    );
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#words.push(chunk.toString('utf8'));
      if (this.#words.length > 50) this.#words.shift();
    });
    this.#children.push(child);
    return child;
  }

  /** Throws with the processes' last words when that takes 60 s, or when one ends. */
  async until(what: string, check: () => Promise<boolean>): Promise<void> {
    const deadline = Date.now() + 60_000;
    while (!(await check().catch(() => false))) {
      if (Date.now() > deadline || this.#children.some((child) => child.exitCode !== null))
        throw new Error(`${what}: ${this.#words.join('')}`);
      await delay(100);
    }
  }

  /** Ends one of them; it is not missed afterwards. */
  async end(child: ChildProcess): Promise<void> {
    this.#children.splice(this.#children.indexOf(child), 1);
    if (child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await Promise.race([ended, delay(15_000).then(() => child.kill('SIGKILL'))]);
  }

  /** The newest first. Calls beyond the first wait for it. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    for (const child of [...this.#children].reverse()) await this.end(child);
    rmSync(this.dataDir, { recursive: true, force: true });
    this.#cleanedUp();
  }
}

const port = 7553;

/** Starts a server, with more flags if need be, and waits until it answers. */
export async function startServer(...flags: string[]): Promise<BenchServer> {
  return await serve(new Processes(), flags);
}

async function serve(processes: Processes, flags: readonly string[]): Promise<BenchServer> {
  const address = `127.0.0.1:${port}`;
  const file = (name: string): string => join(processes.dataDir, 'pki', name);
  const listen = ['--listen', address, '--kubernetes-listen', 'off'];
  let server = processes.start('server', ...listen, ...flags);
  await processes.until('the API server does not start', async () =>
    ['ca.crt', 'admin.crt', 'admin.key'].every((name) => existsSync(file(name))),
  );
  const read = (name: string): string => readFileSync(file(name), 'utf8');
  const admin = { address, ca: read('ca.crt'), cert: read('admin.crt'), key: read('admin.key') };
  const client = connect({ ...admin, userAgent: 'berth-bench' });
  const answers = (): Promise<void> =>
    processes.until(
      'the API server does not answer',
      async () => (await client.namespaces.get({ name: 'default' })) !== undefined,
    );
  await answers();
  const stopServer = () => processes.end(server);
  const restartServer = async (): Promise<void> => {
    server = processes.start('server', ...listen, ...flags);
    await answers();
  };
  return {
    client,
    admin,
    token: read('admin.token').trim(),
    pki: join(processes.dataDir, 'pki'),
    dataDir: processes.dataDir,
    get server() {
      return server;
    },
    startScheduler: () => processes.start('scheduler', '--server', address, '--metrics-address', 'off'),
    stopServer,
    startServer: restartServer,
    async restart() {
      await stopServer();
      await restartServer();
    },
    async stop() {
      client.close();
      await processes.stop();
    },
  };
}

/** Starts a server and an agent, which may have more flags, and waits until the node is ready. */
export async function startBerth(...agentFlags: string[]): Promise<BenchBerth> {
  const processes = new Processes();
  const nodeName = `bench-${process.pid}`;
  const berth = await serve(processes, []);
  const agent = processes.start('agent', '--server', berth.admin.address, '--node-name', nodeName, ...agentFlags);
  await processes.until('the node does not become ready', async () => {
    const node = await berth.client.nodes.get({ name: nodeName });
    return isConditionTrue(node.status?.conditions, 'Ready');
  });
  let stopping: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    await processes.end(agent);
    // What it made of the machine's network would be in the way of the next.
    await removeNetwork(berth.dataDir, nodeName, join(berth.dataDir, 'node', nodeName));
    // Where it keeps pods' tokens is mounted until the machine starts again.
    await unmountBelow(createMounts(), join(berth.dataDir, 'node'));
    await berth.stop();
    cleanedUp();
  };
  const stopOnce = (): Promise<void> => {
    stopping ??= stop();
    return stopping;
  };
  const cleanedUp = onSignal(stopOnce);
  return { ...berth, nodeName, agent, stop: stopOnce };
}
