import type { RuntimeEvent } from '../../agent/runtime/runtime.ts';

/** Which pods changed, for one reader; a pod that changes again before it was read counts once. */
export interface EventFeed {
  changed(podUid: string, containerId: string): void;
  /** Until aborted. */
  follow(signal: AbortSignal): AsyncIterable<RuntimeEvent>;
}

export function createEventFeed(): EventFeed {
  /** No more than the node has pods. */
  const pending = new Map<string, RuntimeEvent>();
  let wake = () => {};
  return {
    changed(podUid, containerId) {
      pending.set(podUid, { podUid, containerId });
      wake();
    },
    async *follow(signal) {
      const onAbort = () => wake();
      signal.addEventListener('abort', onAbort);
      try {
        while (!signal.aborted) {
          const [first] = pending.values();
          if (first === undefined) {
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
            continue;
          }
          pending.delete(first.podUid);
          yield first;
        }
      } finally {
        signal.removeEventListener('abort', onAbort);
      }
    },
  };
}
