import { rm } from 'node:fs/promises';
import { isNotFound } from '../../api/errors/index.ts';
import { isConditionTrue } from '../../api/meta/conditions.ts';
import { type Client, type Container, listAll, type Pod, type PodSpec } from '../../client/index.ts';
import { containersOf, eventually, forceRemove, freePort } from '../e2e/installation.ts';
import { unmountBelow } from '../e2e/private-engine.ts';
import { createRunFolder, removeAbandoned, removeNetworks } from './abandoned.ts';
import { image, isReady, namespace } from './pod-churn.ts';
import { type AgentStart, type BerthProcess, connectAdmin, startAgent, startServer } from './processes.ts';

/** A server of a test's own, and agents of it on this machine: processes without a supervisor. */
export interface ChaosHouse {
  readonly dataDir: string;
  readonly address: string;
  readonly nodeName: string;
  readonly client: Client;
  /** Another server in place of one that was killed. */
  startServer(): Promise<void>;
  killServer(): Promise<void>;
  /** Makes the server stand still, and go on. */
  signalServer(name: 'SIGSTOP' | 'SIGCONT'): void;
  /** An agent of the house's node, or of another one. It ends with the house. */
  startAgent(nodeName?: string, how?: AgentStart): BerthProcess;
  /** Waits until a pod is as `test` wants it; what it is instead stands in the error. */
  until(name: string, what: string, test: (pod: Pod) => boolean, timeoutMs?: number): Promise<Pod>;
  nodeIsReady(nodeName?: string): Promise<boolean>;
  /** The containers of a pod on the house's node, without its sandbox, that run. */
  running(pod: string): Promise<{ id: string }[]>;
  /** Deletes all pods and waits until they and their containers are gone, on all nodes that agents were started for. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

/** Of the pods that were listed a moment ago some are gone by now. */
async function deleteIfThere(client: Client, name: string): Promise<void> {
  await client.pods.delete({ namespace, name }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}

/** The server runs, with these flags; an agent does not. */
export async function createChaosHouse(name: string, flags: readonly string[] = []): Promise<ChaosHouse> {
  await removeAbandoned();
  const dataDir = await createRunFolder(name);
  const address = `127.0.0.1:${await freePort()}`;
  const houseNode = `chaos-${name}-${process.pid}`;
  const nodes = new Set<string>([houseNode]);
  const agents: BerthProcess[] = [];
  let server = await startServer(dataDir, address, ...flags);
  const client = await connectAdmin(dataDir, address);
  const containers = async () => (await Promise.all([...nodes].map(containersOf))).flat();

  async function clear(): Promise<void> {
    // Large specs come in several pages.
    const { items } = await listAll(client.pods, { namespace });
    await Promise.all(items.map(({ metadata }) => deleteIfThere(client, metadata?.name ?? '')));
    await eventually(
      'no pod and no container is left',
      async () => {
        const left = (await client.pods.list({ namespace })).items.map(({ metadata }) => metadata?.name);
        const alive = await containers();
        if (left.length + alive.length === 0) return true;
        throw new Error(`pods ${left.join()}, containers ${alive.map((each) => `${each.pod}/${each.container}`).join()}`);
      },
      180_000,
    );
  }

  return {
    dataDir,
    address,
    nodeName: houseNode,
    client,
    async startServer() {
      server = await startServer(dataDir, address, ...flags);
    },
    killServer: () => server.kill(),
    signalServer: (name) => server.signal(name),
    startAgent(nodeName = houseNode, how = {}) {
      nodes.add(nodeName);
      const agent = startAgent(dataDir, address, nodeName, how);
      agents.push(agent);
      return agent;
    },
    until: (podName, what, test, timeoutMs = 180_000) =>
      eventually(
        `pod ${podName} ${what}`,
        async () => {
          const pod = await client.pods.get({ namespace, name: podName });
          if (test(pod)) return pod;
          throw new Error(JSON.stringify(pod.status));
        },
        timeoutMs,
      ),
    async nodeIsReady(nodeName = houseNode) {
      const { status } = await client.nodes.get({ name: nodeName });
      return isConditionTrue(status?.conditions, 'Ready');
    },
    running: async (pod) =>
      (await containersOf(houseNode)).filter((each) => each.pod === pod && each.container !== 'POD' && each.state === 'running'),
    clear,
    async close() {
      client.close();
      await Promise.all([...agents, server].map((each) => each.kill()));
      const left = (await containers()).map((each) => each.id);
      await forceRemove(left);
      await removeNetworks(dataDir);
      await unmountBelow(dataDir);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** One container "main" that runs a script. */
export function podOf(name: string, script: string, more: Partial<Container> = {}, spec: PodSpec = {}): Pod {
  const main = { name: 'main', image, command: ['sh', '-c', script], imagePullPolicy: 'IfNotPresent', ...more };
  return { metadata: { namespace, name }, spec: { terminationGracePeriodSeconds: 1, containers: [main], ...spec } };
}

export const restartsOf = (pod: Pod): number => pod.status?.containerStatuses?.[0]?.restartCount ?? 0;
export const idOf = (pod: Pod): string => pod.status?.containerStatuses?.[0]?.containerID?.replace('docker://', '') ?? '';

/** What must be true of a pod that had nothing to do with a fault: it runs, and it is the container that it was. */
export const untouched = (pod: Pod) => ({ ready: isReady(pod), restarts: restartsOf(pod), id: idOf(pod) });
