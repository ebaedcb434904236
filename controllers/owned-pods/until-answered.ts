import { isCancelled, isInternal, isTimeout, isUnavailable } from '../../api/errors/index.ts';
import { type BackoffOptions, type Clock, createBackoff, pause } from '../../client/index.ts';

/** Whether a call that failed may have been carried out all the same. */
export function isOutcomeUnknown(error: unknown): boolean {
  return isUnavailable(error) || isTimeout(error) || isCancelled(error) || isInternal(error);
}

export interface UntilAnsweredOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly random?: (() => number) | undefined;
  /** Hears of each failure from the third in a row on. */
  readonly onFailure?: ((error: unknown) => void) | undefined;
}

/** One or two failures in a row are a restart of the server. */
const quietFailures = 2;
const backoff: BackoffOptions = { initialMs: 100, maxMs: 5_000 };

/**
 * Makes a call, and makes it again while nothing tells whether it was carried out. Throws what the server answers, and
 * the last error once `signal` has aborted.
 */
export async function untilAnswered<T>(
  call: () => Promise<T>,
  { clock, signal, random = Math.random, onFailure }: UntilAnsweredOptions,
): Promise<T> {
  const waits = createBackoff({ ...backoff, random });
  for (let failures = 0; ; failures++) {
    try {
      return await call();
    } catch (error) {
      if (signal.aborted || !isOutcomeUnknown(error)) throw error;
      if (failures >= quietFailures) onFailure?.(error);
      await pause(waits.next(), signal, clock);
      if (signal.aborted) throw error;
    }
  }
}
