import type { RuntimeEvent } from '../../agent/runtime/runtime.ts';

/** Events as they are sent to the watchers, until aborted. */
export async function* watch(watchers: Set<(event: RuntimeEvent) => void>, signal: AbortSignal): AsyncIterable<RuntimeEvent> {
  const pending: RuntimeEvent[] = [];
  let wake = () => {};
  const receive = (event: RuntimeEvent) => {
    pending.push(event);
    wake();
  };
  const onAbort = () => wake();
  watchers.add(receive);
  signal.addEventListener('abort', onAbort);
  try {
    while (!signal.aborted) {
      const event = pending.shift();
      if (event !== undefined) yield event;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    watchers.delete(receive);
    signal.removeEventListener('abort', onAbort);
  }
}
