import { type ApiError, callCancelled } from '../../api/errors/index.ts';

/**
 * Rejects with `reason` (CANCELLED) as soon as the signal aborts; otherwise as `work`. The listener is removed with
 * `work`: a promise that lives as long as its stream would retain everything that it was ever raced against.
 */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal, reason: () => ApiError = callCancelled): Promise<T> {
  let abort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(reason());
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort);
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
