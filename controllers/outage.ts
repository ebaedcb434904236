/**
 * Whether the API server is away, for all who judge by time: while it is, nodes cannot say that they live, and people cannot take back what they
 * said. One loop tells, all hear; whatever was counted until then counts no more.
 */
export interface Outage {
  /** A call failed through the server's fault. */
  began(): void;
  /** The server answers, or an agent could write: from now on all of them can. True when there was an outage. */
  ended(): boolean;
  /** Calls `listener` at each beginning and each end, until the returned function is called. */
  listen(listener: () => void): () => void;
}

export function createOutage(): Outage {
  const listeners = new Set<() => void>();
  let isOn = false;
  const tell = (): void => {
    for (const listener of listeners) listener();
  };
  return {
    began() {
      isOn = true;
      tell();
    },
    ended() {
      if (!isOn) return false;
      isOn = false;
      tell();
      return true;
    },
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
