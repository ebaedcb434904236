/**
 * The objects of a store at one moment. Reading them costs the store nothing but the reading: writes and compactions go
 * on.
 */
export interface BackupMoment {
  readonly revision: number;
  /** About so many bytes of records are to come. */
  readonly bytes: number;
  /**
   * The records (record.ts) of all objects, in pieces of about `maxBytes`; each is read when it is asked for, in one
   * turn of the event loop. Throws `compacted` when the history of the moment has been forgotten meanwhile.
   */
  pages(maxBytes: number): Iterable<readonly Buffer[]>;
}

/** What a backend offers that can be backed up. */
export interface BackupSource {
  /** Takes this moment: everything that was acknowledged until now, and nothing that comes later. */
  begin(): BackupMoment;
}
