import type { ChildProcess } from 'node:child_process';
import { type BenchServer, startServer } from '../berth.ts';
import { spawnHollowNodes } from '../hollow/process.ts';
import { measureBulkRate } from './bulk-rate.ts';
import { WriteCounts } from './write-counts.ts';

/** Hollow nodes of a cluster. */
export const nodeCount = 500;

/** Not that of a server that runs on this machine. */
const metricsAddress = '127.0.0.1:7554';

/** A server as users start it (API, scheduler, controllers in one process) with hollow nodes in a second. */
export interface WorkloadCluster {
  readonly server: BenchServer;
  readonly hollow: ChildProcess;
  /** Creates a second over Bulk, measured on this very cluster before anything else. */
  readonly bulkRate: number;
  readonly writes: WriteCounts;
}

export async function withWorkloadCluster<T>(
  say: (text: string) => void,
  hollowFlags: readonly string[],
  task: (cluster: WorkloadCluster) => Promise<T>,
): Promise<T> {
  const server = await startServer('--metrics-address', metricsAddress);
  try {
    const nodes = await spawnHollowNodes(
      nodeCount,
      '--server',
      server.admin.address,
      '--data-dir',
      server.dataDir,
      ...hollowFlags,
    );
    say(`${nodeCount} hollow nodes are ready`);
    try {
      const bulkRate = await measureBulkRate(server);
      say(`bulk creates: ${bulkRate.toFixed(0)}/s`);
      const writes = await WriteCounts.open(metricsAddress);
      return await task({ server, hollow: nodes.child, bulkRate, writes });
    } finally {
      await nodes.stop();
    }
  } finally {
    await server.stop();
  }
}
