import type { ChildProcess } from 'node:child_process';
import { labels } from '../../api/meta/well-known.ts';
import type { BulkWriter, Node, Pod } from '../../client/index.ts';
import { type BenchServer, startServer } from '../berth.ts';
import { inParallel } from '../figure.ts';
import { PodWatch } from './pod-watch.ts';
import { quantities } from './shapes.ts';

/** A server and a scheduler as processes, and a watch of all pods. */
export interface Cluster {
  readonly server: BenchServer;
  readonly scheduler: ChildProcess;
  readonly pods: PodWatch;
}

/** As the stream of writes takes them: more would only wait there. */
const atOnce = 1_000;

/** Starts both, without the controllers: no agent renews the leases of nodes that exist in the API alone. */
export async function withCluster<T>(task: (cluster: Cluster) => Promise<T>): Promise<T> {
  const server = await startServer('--no-scheduler', '--no-controllers');
  try {
    const pods = await PodWatch.open(server);
    const result = await task({ server, scheduler: server.startScheduler(), pods });
    pods.close();
    return result;
  } finally {
    await server.stop();
  }
}

/** Creates nodes of 4 CPU, 32 GiB and 110 pods that are ready, evenly over so many zones. */
export async function createNodes({ server }: Cluster, { nodes, zones }: { nodes: number; zones: number }): Promise<void> {
  await withWriter(server, (writer) => {
    const resource = writer.resource('Node');
    return inParallel(nodes, atOnce, async (index) => {
      const { status, ...node } = machine(index, zones);
      const { metadata } = await resource.create(node);
      await resource.updateStatus({
        ...node,
        metadata: { ...node.metadata, resourceVersion: metadata?.resourceVersion },
        status,
      });
    });
  });
}

/** Creates the pods as a program does that writes much: over one stream of bulk writes. */
export async function createPods({ server }: Cluster, count: number, podOf: (index: number) => Pod): Promise<void> {
  await withWriter(server, (writer) => {
    const resource = writer.resource('Pod');
    return inParallel(count, atOnce, async (index) => void (await resource.create(podOf(index))));
  });
}

/**
 * Creates the pods and binds each as soon as it is there, to one node after the other, as the fastest scheduler would:
 * one that decides nothing. Shows what the server does of a workload.
 */
export async function createAndBind(
  { server }: Cluster,
  nodes: number,
  count: number,
  podOf: (index: number) => Pod,
): Promise<void> {
  const bindings = server.client.pods.bindStream();
  await withWriter(server, (writer) => {
    const resource = writer.resource('Pod');
    return inParallel(count, atOnce, async (index) => {
      const { metadata } = await resource.create(podOf(index));
      const { namespace = '', name = '', uid = '' } = metadata ?? {};
      await bindings.bind({ namespace, name, uid }, nodeName(index % nodes));
    });
  });
  await bindings.close();
}

async function withWriter(server: BenchServer, task: (writer: BulkWriter) => Promise<void>): Promise<void> {
  const writer = server.client.bulkWriter({ answers: 'metadata' });
  await task(writer);
  await writer.close();
}

export const nodeName = (index: number): string => `node-${String(index).padStart(5, '0')}`;

/** The zone of a node, by its name. */
export function zoneOf(name: string, zones: number): number {
  return Number(name.slice('node-'.length)) % zones;
}

function machine(index: number, zones: number): Node {
  const name = nodeName(index);
  const size = quantities({ cpu: '4', memory: '32Gi', pods: '110' });
  return {
    metadata: { name, labels: { [labels.hostname]: name, [labels.zone]: `zone-${zoneOf(name, zones)}` } },
    status: { capacity: size, allocatable: size, conditions: [{ type: 'Ready', status: 'True' }] },
  };
}
