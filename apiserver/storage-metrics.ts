import type { Logger } from 'pino';
import type { MetricsRegistry } from '../api/metrics/index.ts';
import { apiserverMetrics as table } from './metrics.ts';
import type { OnCommit } from './storage/lmdb/lmdb-usage.ts';
import type { Storage, StorageUsage } from './storage/storage.ts';

/** Puts every commit into the metrics. */
export function commitMeter(metrics: MetricsRegistry): OnCommit {
  const durations = metrics.histogram(table.commits).with();
  const failed = metrics.counter(table.commitsFailed).with();
  return (seconds, isDone) => {
    durations.observe(seconds);
    if (!isDone) failed.inc();
  };
}

/** What becomes of a compaction that failed. */
export function compactionFailed(log: Logger, metrics: MetricsRegistry): (err: unknown) => void {
  const failed = metrics.counter(table.compactionsFailed).with();
  return (err) => {
    failed.inc();
    log.warn({ err }, 'cannot compact the store');
  };
}

/**
 * What a store takes up, computed when the page is read; the returned function ends that, before the store is closed.
 */
export function measureStorage(metrics: MetricsRegistry, { usage }: Storage): () => void {
  if (!usage) return () => {};
  const one = (value: (of: StorageUsage) => number) => () => value(usage());
  const leave = [
    metrics.read(
      table.storedBytes,
      one(({ fileBytes }) => fileBytes),
    ),
    metrics.read(
      table.freeBytes,
      one(({ diskFreeBytes }) => diskFreeBytes),
    ),
    metrics.read(
      table.compacted,
      one(({ compactedRevision }) => compactedRevision),
    ),
    metrics.read(table.usedBytes, () => {
      const { liveBytes, historyBytes, relaxedBytes } = usage();
      return Object.entries({ live: liveBytes, history: historyBytes, relaxed: relaxedBytes }).map(([part, value]) => ({
        labels: [part],
        value,
      }));
    }),
  ];
  return () => {
    for (const each of leave) each();
  };
}
