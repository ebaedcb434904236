/** An AbortController that also aborts with its parent, until it is unlinked. */
export interface LinkedAbort {
  readonly signal: AbortSignal;
  abort(): void;
  /** Takes the listener off the parent. Always call it: parents live as long as the program. */
  unlink(): void;
}

/** Makes a signal that aborts with `parent` (where there is one) and on demand. */
export function linkAbort(parent: AbortSignal | undefined): LinkedAbort {
  const controller = new AbortController();
  const abort = () => controller.abort();
  if (parent?.aborted) abort();
  else parent?.addEventListener('abort', abort);
  return { signal: controller.signal, abort, unlink: () => parent?.removeEventListener('abort', abort) };
}

/** Calls `callback` once when `signal` aborts (at once if it has); the returned function takes the listener off. */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined) return () => {};
  if (signal.aborted) {
    callback();
    return () => {};
  }
  signal.addEventListener('abort', callback, { once: true });
  return () => signal.removeEventListener('abort', callback);
}
