import type { Duplex } from 'node:stream';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';

/** TLS over an open connection, both of which end together. Its errors need no listener: 'close' follows them. */
export function overTls(socket: Duplex, options: ConnectionOptions): TLSSocket {
  const secure = connect({ ...options, socket });
  // An agent of node:http listens while there is a request and while the connection idles, but not between the two.
  secure.on('error', () => {});
  secure.once('close', () => socket.destroy());
  socket.once('error', (error) => secure.destroy(error));
  return secure;
}
