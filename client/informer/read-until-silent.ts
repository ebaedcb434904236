import { linkAbort } from '../abort.ts';
import type { Clock } from '../clock.ts';

export interface SilenceOptions {
  /** Ends the stream; what the stream throws then is thrown. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly silenceMs: number;
  readonly onSilence: () => void;
}

/**
 * Reads what `open` opens. When nothing comes for `silenceMs` it tells `onSilence`, aborts the stream and ends
 * normally: a connection that has died without a word looks like this.
 */
export async function* readUntilSilent<T>(
  open: (signal: AbortSignal) => AsyncIterable<T>,
  { signal, clock, silenceMs, onSilence }: SilenceOptions,
): AsyncGenerator<T> {
  const attempt = linkAbort(signal);
  const silence = watchSilence(clock, silenceMs, () => {
    onSilence();
    attempt.abort();
  });
  try {
    for await (const item of open(attempt.signal)) {
      silence.heard();
      yield item;
    }
  } catch (error) {
    if (!attempt.signal.aborted || signal.aborted) throw error;
  } finally {
    silence.stop();
    attempt.unlink();
  }
}

/** Calls `onSilence` when `heard` has not been called for `ms`. One timer, not one for each call. */
function watchSilence(clock: Clock, ms: number, onSilence: () => void) {
  let heardAt = clock.now();
  const check = () => {
    const leftMs = heardAt + ms - clock.now();
    if (leftMs > 0) cancel = clock.after(leftMs, check);
    else onSilence();
  };
  let cancel = clock.after(ms, check);
  return {
    heard: () => {
      heardAt = clock.now();
    },
    stop: () => cancel(),
  };
}
