import type { Writable } from 'node:stream';
import { callCancelled } from '../../../api/errors/index.ts';
import { stopping } from '../../tunnel/forward.ts';

/**
 * Writes and resolves when the bytes have left this process. Throws CANCELLED when the other side is gone, and
 * UNAVAILABLE when the signal aborts before.
 */
export function sendBytes(to: Writable, bytes: Uint8Array, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted || to.destroyed || to.writableEnded) {
      reject(signal?.aborted && !to.destroyed ? stopping() : callCancelled());
      return;
    }
    const done = (error?: Error | null): void => {
      to.removeListener('close', gone);
      signal?.removeEventListener('abort', aborted);
      if (error) reject(callCancelled());
      else resolve();
    };
    const gone = (): void => done(callCancelled());
    const aborted = (): void => {
      to.removeListener('close', gone);
      signal?.removeEventListener('abort', aborted);
      reject(stopping());
    };
    to.once('close', gone);
    signal?.addEventListener('abort', aborted);
    to.write(bytes, done);
  });
}
