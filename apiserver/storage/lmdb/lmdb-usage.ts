import { statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { StorageUsage } from '../storage.ts';
import { readState, type Tables, withBatch } from './tables.ts';

/** What the store in a directory takes up; a few system calls. */
export function readUsage(tables: Tables, directory: string): StorageUsage {
  const { liveBytes, logBytes, relaxedBytes, compacted } = readState(tables);
  const { bavail, bsize } = statfsSync(directory);
  return {
    fileBytes: statSync(join(directory, 'data.mdb')).size,
    diskFreeBytes: bavail * bsize,
    liveBytes,
    historyBytes: logBytes - liveBytes,
    relaxedBytes,
    compactedRevision: compacted,
  };
}

/** Hears how long each commit took, and whether it reached the disk. */
export type OnCommit = (seconds: number, isDone: boolean) => void;

/** The same tables, with their commits timed. */
export function timeCommits(tables: Tables, onCommit: OnCommit | undefined): Tables {
  if (!onCommit) return tables;
  const batch: Tables['root']['batch'] = async (action) => {
    const beganAt = performance.now();
    let isDone = false;
    try {
      const result = await tables.root.batch(action);
      isDone = true;
      return result;
    } finally {
      onCommit((performance.now() - beganAt) / 1000, isDone);
    }
  };
  return withBatch(tables, batch);
}
