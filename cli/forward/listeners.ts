import { createServer, type Server, type Socket } from 'node:net';
import { badRequest, internal } from '../../api/errors/index.ts';
import type { LocalAddress, PortPair } from './port-pairs.ts';

export interface Listener {
  readonly address: string;
  readonly port: number;
  close(): void;
}

export interface ListenOptions {
  readonly addresses: readonly LocalAddress[];
  onConnection(socket: Socket, localPort: number): void;
}

/** Listens on every address; of those that may be missing at least one has to be there. Throws INVALID_ARGUMENT. */
export async function listen({ local }: PortPair, { addresses, onConnection }: ListenOptions): Promise<Listener[]> {
  const listeners: Listener[] = [];
  let failure: unknown;
  for (const { host, optional } of addresses) {
    try {
      // A free port is the same one on all addresses.
      listeners.push(await listenOn(host, listeners[0] && local === 0 ? listeners[0].port : local, onConnection));
    } catch (error) {
      failure = error;
      if (optional) continue;
      break;
    }
  }
  const required = addresses.filter(({ optional }) => !optional).length;
  if (listeners.length > 0 && listeners.length >= required) return listeners;
  for (const listener of listeners) listener.close();
  throw failure;
}

function listenOn(host: string, port: number, onConnection: ListenOptions['onConnection']): Promise<Listener> {
  // The pod may go on sending when the client has sent all it has.
  const server: Server = createServer({ allowHalfOpen: true, pauseOnConnect: true });
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(badRequest(`unable to listen on port ${port}: ${causeOf(error, host)}`)),
    );
    server.listen({ host, port, ipv6Only: true }, () => {
      const address = server.address();
      if (address === null || typeof address === 'string') return reject(internal('the listener has no address'));
      server.on('connection', (socket) => onConnection(socket, address.port));
      resolve({
        address: address.family === 'IPv6' ? `[${address.address}]` : address.address,
        port: address.port,
        close: () => server.close(),
      });
    });
  });
}

const causes: Readonly<Record<string, string>> = {
  EADDRINUSE: 'something else listens there; choose another with LOCAL:REMOTE, or a free one with :REMOTE',
  EACCES: 'only root may; choose one above 1023 with LOCAL:REMOTE',
  EADDRNOTAVAIL: 'this machine does not have that address',
  ENOTFOUND: 'no such address',
};

function causeOf(error: NodeJS.ErrnoException, host: string): string {
  return `${host}: ${causes[error.code ?? ''] ?? error.message}`;
}
