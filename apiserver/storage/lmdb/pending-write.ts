import type { Durability, StorageEvent } from '../storage.ts';
import type { Head } from './head.ts';

/** The newest write of a key that has been decided, on disk or on its way. */
export interface DecidedHead extends Head {
  readonly durability: Durability;
}

/** A decided write on its way to the disk. */
export interface PendingWrite {
  readonly event: StorageEvent;
  readonly record: Buffer;
  readonly before: DecidedHead | undefined;
  readonly time: number;
  /** Acknowledged and shown when it is on the disk; otherwise as soon as the writes before it are. */
  readonly awaitsDisk: boolean;
}
