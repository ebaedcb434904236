import { Socket } from 'node:net';
import { onAbort } from '../../client/abort.ts';
import { systemClock } from '../../client/clock.ts';
import { type CheckResult, failure, joinHostPort, success } from './check-result.ts';
import { dialWords } from './dial-words.ts';

/** Whether a connection can be opened; it is closed at once. */
export function checkTcp(
  target: { readonly host: string; readonly port: number },
  timeoutMs: number,
  signal: AbortSignal,
): Promise<CheckResult> {
  const address = joinHostPort(target);
  return new Promise((resolve) => {
    const socket = new Socket();
    const settle = (result: CheckResult) => {
      cancel();
      unlink();
      socket.destroy();
      resolve(result);
    };
    const cancel = systemClock.after(timeoutMs, () => settle(failure(`dial tcp ${address}: i/o timeout`)));
    const unlink = onAbort(signal, () => settle(failure('aborted')));
    socket.once('connect', () => settle(success));
    socket.on('error', (error) => settle(failure(dialWords(error, address))));
    try {
      socket.connect({ host: target.host, port: target.port });
    } catch (error) {
      // A port that is none.
      cancel();
      unlink();
      socket.destroy();
      throw error;
    }
  });
}
