import { pause, type StorageClock, systemStorageClock } from './clock.ts';
import type { Storage } from './storage.ts';
import { StorageError } from './storage-error.ts';

export interface CompactionOptions {
  /** History younger than this is kept. */
  readonly keepMs?: number | undefined;
  /** How often the store's revision is noted; history is kept for up to this much longer. Unless told otherwise a minute, less for short histories. */
  readonly everyMs?: number | undefined;
  readonly clock?: StorageClock;
  /** Hears of a compaction that failed (a full disk, say); the next round tries again. */
  readonly onError?: (error: StorageError) => void;
}

interface Sample {
  readonly at: number;
  readonly revision: number;
}

const hourMs = 3_600_000;
const minuteMs = 60_000;
const secondMs = 1_000;

/**
 * Forgets history older than `keepMs`, on any backend, until the signal aborts or the store is closed: notes the revision every minute and compacts
 * to the newest note that is old enough. After a restart the notes begin afresh, so history lives at most `keepMs` longer. When nothing was
 * written there is nothing to compact, and the disk stays still.
 */
export async function runCompaction(storage: Storage, options: CompactionOptions, signal: AbortSignal): Promise<void> {
  const { keepMs = hourMs, clock = systemStorageClock, onError } = options;
  const everyMs = options.everyMs ?? Math.max(secondMs, Math.min(minuteMs, keepMs / 10));
  const samples: Sample[] = [];
  while (!signal.aborted) {
    try {
      await compactOnce(storage, samples, clock.now(), keepMs);
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      if (error.code === 'closed') return;
      onError?.(error);
    }
    await pause(everyMs, clock, signal);
  }
}

async function compactOnce(storage: Storage, samples: Sample[], now: number, keepMs: number): Promise<void> {
  const { revision } = await storage.list('', { limit: 1 });
  if (samples.at(-1)?.revision !== revision) samples.push({ at: now, revision });
  const due = samples.findLastIndex((sample) => now - sample.at >= keepMs);
  if (due < 0) return;
  await storage.compact(samples[due]!.revision);
  samples.splice(0, due + 1);
}
