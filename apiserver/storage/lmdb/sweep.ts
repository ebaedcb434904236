import type { StoreState } from './state.ts';
import { readHead, readLog, type Tables } from './tables.ts';

/** What one step of a compaction removes. */
export interface SweepStep {
  /** History up to here is gone after this step. */
  readonly swept: number;
  readonly log: ReadonlySet<number>;
  readonly heads: readonly string[];
  readonly bytes: number;
}

/** Short enough not to hold up the writes that share its commit. */
const recordsPerStep = 500;

/**
 * The next step towards `target`. A record at or before it makes the one before it of the same key unnecessary, and a
 * deletion also itself; so only the records between the last compaction and this one are read, however large the store
 * is.
 */
export function computeSweep(tables: Tables, state: StoreState, target: number): SweepStep | undefined {
  if (state.swept >= target) return undefined;
  const records = readLog(tables, state.swept, target, recordsPerStep);
  const log = new Set<number>();
  const heads: string[] = [];
  let bytes = 0;
  const remove = (revision: number): void => {
    const size = log.has(revision) ? undefined : tables.log.get(revision)?.length;
    if (size === undefined) return;
    log.add(revision);
    bytes += size;
  };
  for (const record of records) {
    if (record.previous > 0) remove(record.previous);
    if (record.type === 'put') continue;
    remove(record.revision);
    if (readHead(tables, record.key)?.revision === record.revision) heads.push(record.key);
  }
  const swept = records.length < recordsPerStep ? target : records.at(-1)!.revision;
  return { swept, log, heads, bytes };
}
