/** A time that is running. */
export interface Timeout {
  /** Aborts when the time is over. */
  readonly signal: AbortSignal;
  /** Ends it; the signal never aborts then. */
  clear(): void;
}

/**
 * Not AbortSignal.timeout: Node.js 20 forgets one that only an AbortSignal.any knows of when it collects its garbage,
 * and the time never ends. Whatever is given a signal may compose it with others.
 */
export function startTimeout(ms: number): Timeout {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new DOMException('the time is over', 'TimeoutError')), ms);
  timer.unref();
  return { signal: controller.signal, clear: () => clearTimeout(timer) };
}
