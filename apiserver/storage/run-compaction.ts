import { pause, type StorageClock, systemStorageClock } from './clock.ts';
import type { Storage } from './storage.ts';
import { StorageError } from './storage-error.ts';

export interface CompactionOptions {
  /** History younger than this is kept. */
  readonly keepMs?: number | undefined;
  /** The interval; history is kept for up to this much longer. By default a minute, less for short histories. */
  readonly everyMs?: number | undefined;
  readonly clock?: StorageClock;
  /** Hears of a compaction that failed (a full disk, say); the next round tries again. */
  readonly onError?: (error: StorageError) => void;
}

const hourMs = 3_600_000;
const minuteMs = 60_000;
const secondMs = 1_000;

/**
 * Forgets history older than `keepMs`, on any backend, until the signal aborts or the store is closed. What is old
 * enough the store itself knows, also after a restart. When nothing was written there is nothing to compact, and the
 * disk stays still.
 */
export async function runCompaction(storage: Storage, options: CompactionOptions, signal: AbortSignal): Promise<void> {
  const { keepMs = hourMs, clock = systemStorageClock, onError } = options;
  const everyMs = options.everyMs ?? Math.max(secondMs, Math.min(minuteMs, keepMs / 10));
  let compacted = 0;
  while (!signal.aborted) {
    try {
      compacted = await compactOnce(storage, compacted, clock.now() - keepMs);
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      if (error.code === 'closed') return;
      onError?.(error);
    }
    await pause(everyMs, clock, signal);
  }
}

/** The newest state that is old enough stays readable. */
async function compactOnce(storage: Storage, compacted: number, time: number): Promise<number> {
  const moment = await storage.history.at(time);
  if (!moment || moment.revision <= compacted) return compacted;
  await storage.compact(moment.revision);
  return moment.revision;
}
