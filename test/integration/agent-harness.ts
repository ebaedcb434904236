import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createPodDialer } from '../../agent/machine/pod-dialer.ts';
import { createUsageHistory } from '../../agent/machine/usage-history.ts';
import { type AgentOptions, runAgent } from '../../agent/main.ts';
import { holdSandboxImage } from '../../agent/pause/held-image.ts';
import { ownSandboxImage } from '../../agent/pause/sandbox-image.ts';
import type { AgentPorts } from '../../agent/ports.ts';
import { createVolumes } from '../../agent/volumes/volumes.ts';
import type { Pod } from '../../api/generated/types.ts';
import type { KindName } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import { type Client, connect } from '../../client/index.ts';
import { createFakeCommands, type FakeCommands } from '../fakes/fake-commands.ts';
import { createFakeLogger } from '../fakes/fake-logger.ts';
import { createFakeRuntime, type FakeRuntime, type FakeRuntimeOptions } from '../fakes/fake-runtime.ts';
import type { RunningServer } from './apiserver-harness.ts';

export const image = 'busybox:1.36';

export interface Machine {
  readonly fake: FakeRuntime;
  readonly commands: FakeCommands;
  readonly dataDir: string;
  remove(): Promise<void>;
}

/** A machine whose engine is in memory; agents come and go on it. */
export async function startMachine(options: FakeRuntimeOptions = {}): Promise<Machine> {
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-agent-'));
  const fake = createFakeRuntime({ images: [image, ownSandboxImage], ...options });
  return { fake, commands: createFakeCommands(), dataDir, remove: () => rm(dataDir, { recursive: true, force: true }) };
}

export interface RunningAgent {
  readonly client: Client;
  readonly ended: Promise<void>;
  /** The status patches it sent, by pod name. */
  readonly patches: Map<string, number>;
  stop(): Promise<void>;
}

export function startAgent(
  server: RunningServer,
  machine: Machine,
  nodeName: string,
  options: Partial<AgentOptions> = {},
  more: Partial<AgentPorts> = {},
): RunningAgent {
  const client = connect(server.admin);
  const patches = new Map<string, number>();
  const bulkWriter: Client['bulkWriter'] = (writerOptions) => {
    const writer = client.bulkWriter(writerOptions);
    const pods = writer.resource('Pod');
    const counted: typeof pods = {
      ...pods,
      patch(target, ...rest) {
        patches.set(target.name, (patches.get(target.name) ?? 0) + 1);
        return pods.patch(target, ...rest);
      },
    };
    const resource = (kind: KindName | Kind) => (kind === 'Pod' ? counted : writer.resource(kind as KindName));
    return { ...writer, resource: resource as typeof writer.resource };
  };
  const abort = new AbortController();
  const { fake, commands, dataDir } = machine;
  const usage = { timestamp: { seconds: 1 }, cpu: { string: '100m' }, memory: { string: '1Gi' } };
  const ports = {
    runtime: fake.runtime,
    images: fake.images,
    sandboxImage: holdSandboxImage(fake.images),
    access: fake.access,
    commands,
    dialer: createPodDialer(() => {}),
    volumes: createVolumes(join(dataDir, 'node', nodeName, 'pods'), { canMount: false }),
    usage: {
      sample: async () => ({ usage, metrics: { metadata: { name: nodeName }, usage: {} } }),
      history: createUsageHistory(),
      cadvisor: async () => '',
      resource: async () => '',
    },
    inventory: {
      capacity: { cpu: { string: '4' }, memory: { string: '8Gi' }, pods: { string: '110' } },
      allocatable: { cpu: { string: '4' }, memory: { string: '8Gi' }, pods: { string: '110' } },
      addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
      nodeInfo: { machineID: 'machine-1', architecture: 'amd64', operatingSystem: 'linux' },
    },
    close: () => {},
    ...more,
  };
  // No controller makes it where there are none; agents wait for it.
  server.client.serviceAccounts.create({ metadata: { namespace: 'default', name: 'default' } }).catch(() => {});
  const ended = runAgent(
    {
      authorities: server.info.ca,
      client: { ...client, bulkWriter },
      nodeName,
      dataDir,
      logger: createFakeLogger(),
      ports,
      ...options,
    },
    abort.signal,
  );
  ended.catch(() => {});
  return {
    client,
    patches,
    ended,
    async stop() {
      abort.abort();
      await ended.catch(() => {});
      client.close();
    },
  };
}

/** Looks until `check` gives something, or fails with what it last was. */
export async function until<T>(
  what: string,
  check: () => Promise<T | undefined | false> | T | undefined | false,
  ms = 20_000,
): Promise<T> {
  const deadline = Date.now() + ms;
  for (;;) {
    const value = await check();
    if (value !== undefined && value !== false) return value;
    if (Date.now() > deadline) throw new Error(`not in ${ms} ms: ${what}`);
    await delay(10);
  }
}

export async function podWhere(client: Client, name: string, test: (pod: Pod) => boolean): Promise<Pod> {
  let last: Pod | undefined;
  try {
    return await until(`pod ${name}`, async () => {
      last = await client.pods.get({ namespace: 'default', name });
      return test(last) && last;
    });
  } catch (error) {
    throw new Error(`${String(error)}; its status is ${JSON.stringify(last?.status)}`);
  }
}

export async function isGone(client: Client, name: string): Promise<boolean> {
  return client.pods.get({ namespace: 'default', name }).then(
    () => false,
    (error: unknown) => (error as { code?: string }).code === 'NOT_FOUND',
  );
}

export const isRunning = (pod: Pod): boolean => pod.status?.phase === 'Running' && isPodReady(pod);
