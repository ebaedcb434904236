import type { LeanTarget } from '../api/lean-connection.ts';
import { type BenchServer, startServer } from '../berth.ts';

const kubernetes = '127.0.0.1:7555';

/** A server with both doors, without the loops that would react to every pod with writes of their own. */
export interface BothDoors {
  readonly berth: BenchServer;
  readonly grpc: LeanTarget;
  readonly http: LeanTarget;
}

export async function withBothDoors<T>(task: (doors: BothDoors) => Promise<T>): Promise<T> {
  const berth = await startServer('--no-scheduler', '--no-controllers', '--kubernetes-listen', kubernetes);
  try {
    const grpc = { address: berth.admin.address, ca: String(berth.admin.ca), token: berth.token };
    return await task({ berth, grpc, http: { ...grpc, address: kubernetes } });
  } finally {
    await berth.stop();
  }
}
