const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls the listener when the signal aborts, until the returned function is called. For a signal that lives as long as
 * the server and that every open stream waits for: an AbortSignal looks through all its listeners for each that is
 * added or taken away, which with the streams of 200 agents took 0.3 ms. A listener must not throw.
 */
export function onStop(signal: AbortSignal, listener: () => void): () => void {
  const listeners = waiting.get(signal) ?? follow(signal);
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

function follow(signal: AbortSignal): Set<() => void> {
  const listeners = new Set<() => void>();
  waiting.set(signal, listeners);
  const tell = (): void => {
    for (const listener of [...listeners]) if (listeners.has(listener)) listener();
  };
  signal.addEventListener('abort', tell, { once: true });
  return listeners;
}
