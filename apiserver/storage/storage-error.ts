/** What went wrong, for a program. The registry translates each into an ApiError. */
export type StorageErrorCode =
  | 'exists'
  | 'not-found'
  | 'mismatch'
  | 'compacted'
  | 'too-large'
  | 'slow'
  | 'no-space'
  | 'busy'
  | 'corrupt'
  | 'newer-format'
  | 'no-key'
  | 'locked'
  | 'closed'
  | 'failed';

/** What to do about a store that cannot be mended. */
export const restoreAdvice = 'restore it from a backup: berth restore FILE --force';

/** The one error that leaves a storage backend. */
export class StorageError extends Error {
  readonly code: StorageErrorCode;
  /**
   * For `exists`, `mismatch` and `not-found`: the revision of the write of the key that the refusal rests on, which may
   * still be on its way to the disk; absent when nothing was ever written. For `compacted`: the oldest revision still
   * kept.
   */
  readonly revision: number | undefined;

  constructor(code: StorageErrorCode, message: string, options: { revision?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'StorageError';
    this.code = code;
    this.revision = options.revision;
  }
}
