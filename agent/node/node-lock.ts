import { realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { nodeMarker } from '../data-dir.ts';
import { lockProcess } from '../process-lock.ts';
import { describeHolder, holderFacts, NodeNameTakenError } from './node-lease.ts';

export interface LockedNode {
  readonly nodeName: string;
  readonly dataDir: string;
  readonly nodeDir: string;
}

/**
 * Runs with a lock that a second process with the same machine and data directory cannot get: the lease does not tell
 * these two apart. Throws NodeNameTakenError.
 */
export async function withNodeLock({ nodeName, dataDir, nodeDir }: LockedNode, run: () => Promise<void>): Promise<void> {
  const lock = await lockProcess(`agent ${await realpath(nodeDir)}`, describeHolder(holderFacts(dataDir)));
  if ('heldBy' in lock) throw new NodeNameTakenError(nodeName, lock.heldBy);
  try {
    await mark(nodeDir);
    await run();
  } finally {
    await lock.release();
  }
}

/** Marks the folder for a purge. A full disk is ignored: it must not keep an agent from its containers. */
async function mark(nodeDir: string): Promise<void> {
  try {
    await writeFile(join(nodeDir, nodeMarker), '', { mode: 0o600 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOSPC' && code !== 'EDQUOT') throw error;
  }
}
