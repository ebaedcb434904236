import { defaultMaxHistoryBytes } from '../checks.ts';

export interface JournalLimits {
  /** Puts are refused when the log and the relaxed keys hold so many bytes. */
  readonly maxBytes: number;
  /** History is compacted early when it holds so many bytes. */
  readonly maxHistoryBytes: number;
  /** A relaxed write is on disk at the latest after so long. */
  readonly relaxedDelayMs: number;
}

/**
 * 20 s: an idle node's heartbeats and the synced write of its usage once a minute stay below one sync per 10 s
 * together. 4 GiB: a hundred times what 5,000 nodes with their pods need.
 */
export const defaultLimits: JournalLimits = {
  maxBytes: 4 * 1024 ** 3,
  maxHistoryBytes: defaultMaxHistoryBytes,
  relaxedDelayMs: 20_000,
};
