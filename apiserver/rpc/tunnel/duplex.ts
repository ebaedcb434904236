import type { ServerDuplexStream, ServerWritableStream } from '@grpc/grpc-js';
import { type ApiError, callCancelled } from '../../../api/errors/index.ts';

export type Duplex = ServerDuplexStream<Buffer, Buffer>;

/**
 * The peer's frames, read only as fast as the caller iterates; leaving the loop leaves the stream open. A stream whose
 * peer is gone ends; the call's signal says why.
 */
export function framesOf(call: Duplex): AsyncIterableIterator<Buffer> {
  const inner = call.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>;
  return {
    async next() {
      try {
        return await inner.next();
      } catch (error) {
        if (call.cancelled || call.destroyed) return { done: true, value: undefined };
        throw error;
      }
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/**
 * Keeps the library from reading 16 messages ahead, whatever their size; it has no option for that. In a version of it
 * where this has no effect, it reads ahead as before.
 */
export function keepLittleUnread(call: Duplex): void {
  const { _readableState: state } = call as unknown as { _readableState?: { highWaterMark?: number } };
  if (state?.highWaterMark !== undefined) state.highWaterMark = 1;
}

/**
 * Sends one frame and resolves when there is room for the next. Throws `reason` (CANCELLED) when the signal aborts
 * before.
 */
export function send(
  call: Duplex | ServerWritableStream<Buffer, Buffer>,
  frame: Buffer,
  signal: AbortSignal,
  reason: () => ApiError = callCancelled,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(reason());
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener('abort', abort);
    (call as ServerWritableStream<Buffer, Buffer>).write(frame, () => {
      signal.removeEventListener('abort', abort);
      resolve();
    });
  });
}
