import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';

/** When a silent connection is given up: a ping after so long, and so long for its answer. */
export interface Keepalive {
  readonly timeMs: number;
  readonly timeoutMs: number;
}

export const defaultKeepalive: Keepalive = { timeMs: 30_000, timeoutMs: 15_000 };

/**
 * Pings the client of a session, and calls `end` once when not a byte comes back. Node does not tell of each connection
 * that breaks: where a client has gone before its answers are written, the first write fails at once, Node's TLS takes
 * it for one that still goes on, and nothing is written to the connection or read from it any more. Its streams would
 * stay open, and charged, for ever. (The library of gRPC pings by itself.)
 */
export function endWhenSilent(
  session: ServerHttp2Session,
  socket: Pick<Socket, 'bytesRead'>,
  { timeMs, timeoutMs }: Keepalive,
  end: () => void,
): void {
  let timer: NodeJS.Timeout;
  const wait = (ms: number, then: () => void): void => {
    timer = setTimeout(then, ms).unref();
  };
  const ask = (): void => {
    // A session that was destroyed while such a write goes on does not close, and takes no ping.
    if (session.destroyed) {
      end();
      return;
    }
    const before = socket.bytesRead;
    // Whatever else it says shows as well that it lives.
    session.ping(() => {});
    wait(timeoutMs, () => {
      if (socket.bytesRead === before) end();
      else wait(timeMs, ask);
    });
  };
  wait(timeMs, ask);
  session.once('close', () => clearTimeout(timer));
}
