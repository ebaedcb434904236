import { restoreAdvice, StorageError } from '../storage-error.ts';

const corruptCodes: readonly unknown[] = [-30_797, -30_796, -30_794, -30_793];

/** What a failed read means. */
export function translateReadError(error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const text = error instanceof Error ? error.message : String(error);
  return corruptCodes.includes(code)
    ? new StorageError('corrupt', `read the store: ${text}; ${restoreAdvice}`, { cause: error })
    : new StorageError('failed', `read the store: ${text}`, { cause: error });
}
