import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import type { Pod } from '../../api/generated/types.ts';
import { pkiDir, runServer, type ServerInfo } from '../../apiserver/main.ts';
import { type Client, type ConnectOptions, connect, type Logger } from '../../client/index.ts';
import { runScheduler } from '../../scheduler/main.ts';

/** A real API server in this process with schedulers that come and go. */
export interface SchedulerCluster {
  /** Acts as the administrator. */
  readonly client: Client;
  /** How the administrator connects. */
  readonly admin: ConnectOptions;
  /** Starts a scheduler with credentials of its own; the returned function stops it and resolves when it has ended. */
  startScheduler(schedulerName?: string): () => Promise<void>;
  /** Waits until the pods are as `until` says, woken by a watch. */
  podsUntil(until: (pods: readonly Pod[]) => boolean): Promise<readonly Pod[]>;
  stop(): Promise<void>;
}

const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} };

export async function startSchedulerCluster(): Promise<SchedulerCluster> {
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-scheduler-'));
  const controller = new AbortController();
  const { signal } = controller;
  let running: Promise<void> = Promise.resolve();
  const info = await new Promise<ServerInfo>((ready, reject) => {
    running = runServer({ dataDir, listen: '127.0.0.1:0', backend: 'memory', log: pino({ level: 'silent' }), ready }, signal);
    running.catch(reject);
  });
  const read = (file: string) => readFile(join(pkiDir(dataDir), file), 'utf8');
  const optionsOf = async (user: string): Promise<ConnectOptions> => ({
    address: info.address,
    ca: info.ca,
    cert: await read(`${user}.crt`),
    key: await read(`${user}.key`),
  });
  const connectAs = async (user: string) => connect(await optionsOf(user));
  const admin = await optionsOf('admin');
  const client = connect(admin);
  const schedulers = new Set<() => Promise<void>>();

  return {
    client,
    admin,
    startScheduler(schedulerName) {
      const stopping = new AbortController();
      const ended = connectAs('scheduler').then(async (own) => {
        await runScheduler({ client: own, logger: quiet, ...(schedulerName ? { schedulerName } : {}) }, stopping.signal);
        own.close();
      });
      const stop = async () => {
        schedulers.delete(stop);
        stopping.abort();
        await ended;
      };
      schedulers.add(stop);
      return stop;
    },
    podsUntil: (until) => podsUntil(client, until),
    async stop() {
      for (const stop of [...schedulers]) await stop();
      client.close();
      controller.abort();
      await running;
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function podsUntil(client: Client, until: (pods: readonly Pod[]) => boolean): Promise<readonly Pod[]> {
  const stop = AbortSignal.timeout(30_000);
  const pods = new Map<string, Pod>();
  const { metadata, items } = await client.pods.list({ namespace: 'default' });
  for (const pod of items) pods.set(pod.metadata?.name ?? '', pod);
  if (until([...pods.values()])) return [...pods.values()];
  const scope = { namespace: 'default', ...(metadata.resourceVersion ? { resourceVersion: metadata.resourceVersion } : {}) };
  try {
    for await (const batch of client.pods.watch(scope, { signal: stop })) {
      for (const { type, object } of batch) {
        if (type === 'DELETED') pods.delete(object.metadata?.name ?? '');
        else if (type !== 'BOOKMARK') pods.set(object.metadata?.name ?? '', object);
      }
      if (until([...pods.values()])) return [...pods.values()];
    }
  } catch (error) {
    if (!stop.aborted) throw error;
  }
  const seen = [...pods.values()].map(({ metadata, spec, status }) => [metadata?.name, spec?.nodeName, status?.conditions]);
  throw new Error(`pods did not become as expected; seen last: ${JSON.stringify(seen)}`);
}
