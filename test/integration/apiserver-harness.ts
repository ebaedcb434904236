import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { runServer, type ServerInfo, type ServerOptions } from '../../apiserver/main.ts';
import { type Client, type ConnectOptions, connect } from '../../client/index.ts';
import { controllerRules } from '../../controllers/main.ts';

/** A real API server on a free port of this process. */
export interface RunningServer {
  readonly info: ServerInfo;
  readonly dataDir: string;
  /** How the admin connects, with its client certificate. */
  readonly admin: ConnectOptions;
  readonly client: Client;
  /** Stops the server; the data stay until `remove`. */
  stop(): Promise<void>;
  remove(): Promise<void>;
}

export async function startServer(options: Partial<ServerOptions> = {}): Promise<RunningServer> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'berth-apiserver-')));
  const stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();
  const info = await new Promise<ServerInfo>((resolve, reject) => {
    const base = {
      controllerRules,
      listen: '127.0.0.1:0',
      backend: 'memory',
      log: pino({ level: process.env.BERTH_TEST_LOG ?? 'silent' }),
    } as const;
    running = runServer({ ...base, ...options, dataDir, ready: resolve }, stopping.signal);
    running.catch(reject);
  });
  const admin = { address: info.address, ca: info.ca, ...(await readPair(dataDir, 'admin')) };
  const client = connect(admin);
  const stop = async (): Promise<void> => {
    client.close();
    stopping.abort();
    await running;
  };
  return { info, dataDir, admin, client, stop, remove: () => rm(dataDir, { recursive: true, force: true }) };
}

export async function readPair(dataDir: string, name: string): Promise<{ cert: string; key: string }> {
  const read = (file: string): Promise<string> => readFile(join(dataDir, 'pki', file), 'utf8');
  return { cert: await read(`${name}.crt`), key: await read(`${name}.key`) };
}
