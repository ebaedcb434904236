import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import type { Node, Pod } from '../../api/generated/types.ts';
import { timestamp } from '../../api/meta/time.ts';
import { controlPlane, runServer, type ServerInfo } from '../../apiserver/main.ts';
import { type Client, type ConnectOptions, connect, connectOver, type Logger } from '../../client/index.ts';
import { controllerRules } from '../../controllers/main.ts';
import { type RunSchedulerOptions, runScheduler } from '../../scheduler/main.ts';
import type { PodBuilder } from '../builders/index.ts';

/** A real API server in this process with schedulers that come and go. */
export interface SchedulerCluster {
  /** Acts as the administrator. */
  readonly client: Client;
  /** How the administrator connects. */
  readonly admin: ConnectOptions;
  readonly dataDir: string;
  readonly info: ServerInfo;
  /** Starts a scheduler of its own; the returned function stops it and resolves when it has ended. */
  startScheduler(schedulerName?: string, options?: SchedulerStart): () => Promise<void>;
  /** Waits until the pods are as `until` says, woken by a watch. */
  podsUntil(until: (pods: readonly Pod[]) => boolean): Promise<readonly Pod[]>;
  stop(): Promise<void>;
}

export interface SchedulerStart extends Partial<Omit<RunSchedulerOptions, 'client' | 'schedulerName'>> {
  /** Of something that stands between it and the server; without it, its calls take no way over the network. */
  readonly address?: string;
  /** Changes what it sees or does. */
  readonly through?: (client: Client) => Client;
}

const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} };

const scheduler = { identity: { user: controlPlane.scheduler, groups: [] }, userAgent: 'berth-scheduler' };

export async function startSchedulerCluster(): Promise<SchedulerCluster> {
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-scheduler-'));
  const controller = new AbortController();
  const { signal } = controller;
  let running: Promise<void> = Promise.resolve();
  const info = await new Promise<ServerInfo>((ready, reject) => {
    const log = pino({ level: 'silent' });
    running = runServer({ dataDir, listen: '127.0.0.1:0', backend: 'memory', controllerRules, log, ready }, signal);
    running.catch(reject);
  });
  const read = (file: string) => readFile(join(dataDir, 'pki', file), 'utf8');
  const optionsOf = async (user: string): Promise<ConnectOptions> => ({
    address: info.address,
    ca: info.ca,
    cert: await read(`${user}.crt`),
    key: await read(`${user}.key`),
  });
  const admin = await optionsOf('admin');
  const client = connect(admin);
  const schedulers = new Set<() => Promise<void>>();

  return {
    client,
    admin,
    dataDir,
    info,
    startScheduler(schedulerName, { address, through = (own: Client) => own, ...options } = {}) {
      const stopping = new AbortController();
      const inside = () => connectOver(info.channel(scheduler), { address: info.address });
      const opened =
        address === undefined
          ? Promise.resolve().then(inside)
          : optionsOf('scheduler').then((own) => connect({ ...own, address }));
      const ended = opened.then(async (own) => {
        const named = schedulerName ? { schedulerName } : {};
        await runScheduler({ client: through(own), logger: quiet, ...named, ...options }, stopping.signal);
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

/** A node that is ready: the server stamps metadata and takes status only through its subresource. */
export async function addNode({ client }: Pick<SchedulerCluster, 'client'>, built: Node): Promise<void> {
  const { uid: _, creationTimestamp: __, ...metadata } = built.metadata ?? {};
  const created = await client.nodes.create({ ...built, metadata });
  const conditions = [{ type: 'Ready', status: 'True', lastHeartbeatTime: timestamp(new Date()) }];
  await client.nodes.updateStatus({ ...created, status: { ...built.status, conditions } });
}

export async function addPod({ client }: Pick<SchedulerCluster, 'client'>, builder: PodBuilder): Promise<void> {
  const { metadata = {}, spec } = builder.build();
  const { uid: _, creationTimestamp: __, ...rest } = metadata;
  await client.pods.create({ metadata: rest, spec: spec! });
}
