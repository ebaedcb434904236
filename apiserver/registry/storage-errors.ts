import {
  ApiError,
  alreadyExists,
  type ErrorSubject,
  expired,
  internal,
  notFound,
  outdated,
  unavailable,
} from '../../api/errors/index.ts';
import { checkWrite } from '../storage/checks.ts';
import type { Write } from '../storage/storage.ts';
import { StorageError, type StorageErrorCode } from '../storage/storage-error.ts';

const translations = {
  exists: (subject) => alreadyExists(subject),
  'not-found': (subject) => notFound(subject),
  mismatch: (subject) => outdated(subject, 'the object has been changed: read it again and repeat the change'),
  compacted: () => expired('the version asked for is no longer kept: list again'),
  'too-large': (subject, error) =>
    new ApiError('INVALID_ARGUMENT', 'RequestEntityTooLarge', error.message, { subject, cause: error }),
  slow: (_, error) => unavailable('the store is too busy: try again', error),
  'no-space': (subject, error) =>
    new ApiError('RESOURCE_EXHAUSTED', 'NoSpace', `cannot store ${subject.kind} "${subject.name}": ${error.message}`, {
      subject,
      cause: error,
      retryAfterMs: 10_000,
    }),
  busy: (_, error) =>
    new ApiError('RESOURCE_EXHAUSTED', 'TooManyRequests', `the disk is slower than what is written: ${error.message}`, {
      cause: error,
      retryAfterMs: 1_000,
    }),
  corrupt: (_, error) => internal('the store is damaged', error),
  'newer-format': (_, error) => internal('the store was made by a newer version', error),
  'no-key': (_, error) => internal('the key of encrypted Secrets is missing', error),
  locked: (_, error) => internal('the store is in use by another process', error),
  closed: (_, error) => unavailable('the server is stopping: try again', error),
  failed: (_, error) => internal('the store failed', error),
} satisfies Record<StorageErrorCode, (subject: ErrorSubject, error: StorageError) => ApiError>;

/** Translates the store's errors into the API's: a StorageError becomes the ApiError it means, anything else stays. */
export function translateStorageError(error: unknown, subject: ErrorSubject): unknown {
  return error instanceof StorageError ? translations[error.code](subject, error) : error;
}

/** Runs a storage call and translates its error. */
export async function translated<T>(subject: ErrorSubject, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw translateStorageError(error, subject);
  }
}

/** Throws what the store would refuse, for writes that do not get there. */
export function checkStorable(subject: ErrorSubject, key: string, write: Write): void {
  try {
    checkWrite(key, write);
  } catch (error) {
    throw translateStorageError(error, subject);
  }
}

/** What a write gets that others were faster than, time and again. */
export const tooManyOthers = (subject: ErrorSubject): ApiError =>
  outdated(subject, 'too many others change it at the same time: try again');

/** Resolves when the watch cache has reached what a read waits for. Throws UNAVAILABLE when the feed hangs. */
export async function shown({ plural }: { readonly plural: string }, reached: Promise<boolean>): Promise<void> {
  if (!(await reached)) throw unavailable(`cannot read ${plural}: the watch cache does not show the last write yet, try again`);
}
