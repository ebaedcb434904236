import { keyLayout } from '../key-layout.ts';
import { decodeRecord, encodeRecord } from '../record.ts';
import type { StorageEvent } from '../storage.ts';
import { restoreAdvice, StorageError } from '../storage-error.ts';
import type { Head } from './head.ts';

/** What must be known beside the log to find a time in it; stored with the state. */
export interface LogTimesState {
  /** When the newest forgotten write was accepted: from then on the state at the last compaction was the store's. */
  readonly compactedAt: number;
  /** The revisions at which the clock had been set back: between two of them times only grow. */
  readonly steps: readonly number[];
  /** When the newest write was accepted. */
  readonly last: number;
  /** Times before this revision are not known any more, because the clock was set back too often. */
  readonly floor: number;
}

/**
 * What the store knows about itself; written in the same transaction as every change, so that it always fits the data.
 */
export interface StoreState {
  /** Counts the commits, to tell whether a failed one is in the file after all. */
  readonly commit: number;
  /** The revision of the newest write in this commit or an earlier one. */
  readonly revision: number;
  /** No revision up to this one is given out again after a restart. */
  readonly reserved: number;
  /** History up to here is forgotten. */
  readonly compacted: number;
  /** History up to here has been removed from the log; at most `compacted`. */
  readonly swept: number;
  /** Keys that exist (synced), and the bytes of their newest log records. */
  readonly live: number;
  readonly liveBytes: number;
  /** Log records, and their bytes. */
  readonly records: number;
  readonly logBytes: number;
  /** Relaxed keys on disk, and their bytes. */
  readonly relaxed: number;
  readonly relaxedBytes: number;
  /** How the keys are laid out (key-layout.ts). */
  readonly layout: number;
  /** Absent in stores of a version that did not note it. */
  readonly times?: LogTimesState;
}

export const emptyState: StoreState = {
  commit: 0,
  revision: 0,
  reserved: 0,
  compacted: 0,
  swept: 0,
  live: 0,
  liveBytes: 0,
  records: 0,
  logBytes: 0,
  relaxed: 0,
  relaxedBytes: 0,
  layout: keyLayout,
};

/** A decided write as far as the counts depend on it. */
interface CountedWrite {
  readonly event: Pick<StorageEvent, 'type' | 'durability'>;
  readonly record: Buffer;
  readonly before: Pick<Head, 'deleted' | 'size'> | undefined;
}

/** How many synced keys and log records there are after `writes`. */
export function countsAfter(
  old: StoreState,
  writes: readonly CountedWrite[],
): Pick<StoreState, 'live' | 'liveBytes' | 'records' | 'logBytes'> {
  let { live, liveBytes, records, logBytes } = old;
  for (const { event, record, before } of writes) {
    if (event.durability === 'relaxed') continue;
    const replaced = before && !before.deleted ? before : undefined;
    records += 1;
    logBytes += record.length;
    live += (event.type === 'put' ? 1 : 0) - (replaced ? 1 : 0);
    liveBytes += (event.type === 'put' ? record.length : 0) - (replaced?.size ?? 0);
  }
  return { live, liveBytes, records, logBytes };
}

/** As a record, for the sake of its checksum and format. */
export function encodeState(state: StoreState): Buffer {
  return encodeRecord({
    type: 'put',
    durability: 'synced',
    revision: state.revision,
    previous: 0,
    time: 0,
    key: 'state',
    kind: 'StoreState',
    verb: '',
    user: '',
    manager: '',
    bytes: Buffer.from(JSON.stringify(state)),
  });
}

export function decodeState(buffer: Buffer): StoreState {
  const text = Buffer.from(decodeRecord(buffer, 'the state of the store').bytes).toString();
  // Stores of the first layout do not name it.
  const values: Partial<Record<string, unknown>> = { layout: 1, ...(JSON.parse(text) as object) };
  const broken = Object.keys(emptyState).find((name) => !Number.isSafeInteger(values[name]));
  if (broken) throw new StorageError('corrupt', `read the state of the store: ${broken} is missing; ${restoreAdvice}`);
  return values as unknown as StoreState;
}
