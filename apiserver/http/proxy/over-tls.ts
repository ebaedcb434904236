import type { Duplex } from 'node:stream';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';

/** TLS over an open connection, both of which end together. */
export function overTls(socket: Duplex, options: ConnectionOptions): TLSSocket {
  const secure = connect({ ...options, socket });
  secure.once('close', () => socket.destroy());
  socket.once('error', (error) => secure.destroy(error));
  return secure;
}
