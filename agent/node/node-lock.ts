import { realpath } from 'node:fs/promises';
import { lockProcess } from '../process-lock.ts';
import { describeHolder, holderFacts, NodeNameTakenError } from './node-lease.ts';

export interface LockedNode {
  readonly nodeName: string;
  readonly dataDir: string;
  readonly nodeDir: string;
}

/**
 * The lease tells machines and data directories apart; two processes with the same of both are told apart here, at once. Throws
 * NodeNameTakenError.
 */
export async function withNodeLock({ nodeName, dataDir, nodeDir }: LockedNode, run: () => Promise<void>): Promise<void> {
  const lock = await lockProcess(`agent ${await realpath(nodeDir)}`, describeHolder(holderFacts(dataDir)));
  if ('heldBy' in lock) throw new NodeNameTakenError(nodeName, lock.heldBy);
  try {
    await run();
  } finally {
    await lock.release();
  }
}
