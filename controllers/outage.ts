import type { Clock } from '../client/index.ts';

/**
 * Whether the API server is away, for all who judge by time: while it is, nodes cannot say that they live, and people
 * cannot take back what they said. One loop tells, all hear; whatever was counted until then counts no more.
 */
export interface Outage {
  /** A call failed through the server's fault. */
  began(): void;
  /** The server answers, or an agent could write: from now on all of them can. True when there was an outage. */
  ended(): boolean;
  /**
   * Calls `listener` at each beginning and each end, until the returned function is called: once a second at most,
   * and then once more.
   */
  listen(listener: () => void): () => void;
}

/**
 * Of thousands of nodes one after the other may find the server away and answering in turn, and each listener has
 * something to do for all of them. What began anew less than a second ago has counted nothing yet that could do harm.
 */
const pauseMs = 1_000;

export function createOutage(clock: Pick<Clock, 'after'>): Outage {
  const listeners = new Set<() => void>();
  let isOn = false;
  let isPausing = false;
  let isDue = false;
  const tell = (): void => {
    isDue = isPausing;
    if (isPausing) return;
    isPausing = true;
    clock.after(pauseMs, () => {
      isPausing = false;
      if (isDue) tell();
    });
    for (const listener of listeners) listener();
  };
  return {
    began() {
      if (isOn) return;
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
