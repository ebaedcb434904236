/** Node.js calls a timer that is to run longer, 25 days, at once. */
export const longestTimerMs = 2 ** 31 - 1;

/** A time that is running. */
export interface Timeout {
  /** Aborts when the time is over. */
  readonly signal: AbortSignal;
  /** Ends it; the signal never aborts then. */
  clear(): void;
}

/**
 * Starts a time of so many milliseconds, `longestTimerMs` at most, which keeps no process running. Not
 * AbortSignal.timeout: Node.js 20 forgets one that only an AbortSignal.any knows of when it collects its garbage, and
 * the time never ends. Whatever is given a signal may compose it with others.
 */
export function startTimeout(ms: number): Timeout {
  const controller = new AbortController();
  const end = (): void => controller.abort(new DOMException('the time is over', 'TimeoutError'));
  const timer = setTimeout(end, Math.min(ms, longestTimerMs));
  timer.unref();
  return { signal: controller.signal, clear: () => clearTimeout(timer) };
}
